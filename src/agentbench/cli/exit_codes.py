"""The exit codes of the program that are no error's own (those are in `errors`)."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How the program ends; every code is unique."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INPUT = 65
    UNAVAILABLE = 69
    BUG = 70
    INFRASTRUCTURE = 75
    INTERRUPTED = 130
    CLOSED_PIPE = 141
