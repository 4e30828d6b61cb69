"""The names of the rules behind the findings of integrity, in a module that starts quickly."""

from enum import StrEnum


class ControlRule(StrEnum):
    """The rules of control runs; their findings are critical."""

    SEALED = "sealed-value-differed"
    PASSED = "blind-control-passed"
    DIFFERED = "untouched-test-failed"


class ChangeRule(StrEnum):
    """The rules for an agent's change."""

    EXTRACTION_LIMIT = "extraction-limit"
    FILE_REFUSED = "file-refused"
    UNREADABLE_ARCHIVE = "unreadable-archive"
    SUSPICIOUS_CODE = "suspicious-code"
