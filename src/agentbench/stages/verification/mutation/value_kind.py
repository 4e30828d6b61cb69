"""The sorts of things that tests expect."""

from enum import StrEnum


class ValueKind(StrEnum):
    """What sort of thing a test expects."""

    NUMBER = "number"
    TEXT = "text"
    BYTES = "bytes"
    TRUTH = "truth"
    NOTHING = "nothing"
    CONTAINER = "container"
    FORMATTED = "formatted"
    ERROR = "error"
    PATTERN = "pattern"
    BOUND = "bound"
    DOCTEST = "doctest"
