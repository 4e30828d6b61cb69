"""Which executors there are."""

from enum import StrEnum


class ExecutorName(StrEnum):
    """What `--executor` takes."""

    LOCAL = "local"
    RAY = "ray"
