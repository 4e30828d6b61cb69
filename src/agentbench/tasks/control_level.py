"""How many control runs an attempt has: an option's values, in a module that starts quickly."""

from enum import StrEnum


class ControlLevel(StrEnum):
    """The number of control runs of an attempt."""

    OFF = "off"  # none
    SAMPLE = "sample"  # one, in which about half of the tests must fail
    FULL = "full"  # two, and each test must fail in exactly one of them
