"""The executors of a run's attempts: an option's values, in a module that starts quickly."""

from enum import StrEnum


class ExecutorName(StrEnum):
    """The values of `--executor`."""

    LOCAL = "local"
    RAY = "ray"
