"""Whether tests failed, by the text that a test runner of any kind printed."""

import re
from enum import StrEnum


class OwnTests(StrEnum):
    """How the tests of a run by the agent ended, as far as its output says."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b"  # pytest, mocha, jest, RSpec
    r"|^FAILED(?: \(|\b)"  # unittest, pytest's summary
    r"|^[.FEsxX]*[FE][.FEsxX]* +\[ *\d+%\]"  # pytest's progress
    r"|^--- FAIL|^FAIL\b"  # go, jest
    r"|test result: FAILED"  # cargo
    r"|\b(?:failures|errors)=[1-9]"  # unittest
    r"|Failures: [1-9]|Errors: [1-9]"  # Maven
    r"|^not ok \d+|^# fail [1-9]"  # TAP, node
    r'|"outcome": ?"(?:failed|collection_error|crash|timeout)"'  # our test tool
    r"|^E   |\bINTERNALERROR\b",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"\b[1-9]\d* (?:passed|passing)\b"
    r"|^OK(?: \(|\s*$)"
    r"|^ok\s+\S+|^PASS\b"
    r"|test result: ok\."
    r"|Tests run: [1-9]\d*, Failures: 0, Errors: 0"
    r"|^# pass [1-9]"
    r'|"outcome": ?"passed"',
    re.MULTILINE,
)
_XFAILED = re.compile(r"\b\d+ (?:xfailed|xpassed|deselected|skipped)\b")


def own_tests(output: str) -> OwnTests:
    """What a test run's output says; its last lines often are all that the agent saw."""
    plain = _XFAILED.sub("", re.sub(r"\x1b\[[\d;]*m", "", output))
    if _FAILED.search(plain):
        return OwnTests.FAILED
    return OwnTests.PASSED if _PASSED.search(plain) else OwnTests.UNKNOWN
