"""Closed sets of words that options and files share, for modules that must start quickly."""

from enum import StrEnum


class ControlLevel(StrEnum):
    """How many control runs an attempt is judged with."""

    OFF = "off"  # none
    SAMPLE = "sample"  # one, in which some half of the tests must fail
    FULL = "full"  # two, and each test must fail in exactly one of them


class ExecutorName(StrEnum):
    """What `--executor` takes."""

    LOCAL = "local"
    RAY = "ray"
