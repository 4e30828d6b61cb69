"""The values of two options of an export, in a module that starts quickly."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """The values of `agentbench export --format`."""

    ATIF = "atif"
    SFT = "sft"
    PREFERENCE = "preference"
    PARQUET = "parquet"


class VerdictKind(StrEnum):
    """The values of `agentbench export --verdict`."""

    RESOLVED = "resolved"
    FAILED = "failed"  # by the agent's fault
    NO_VERDICT = "no-verdict"  # the infrastructure or the task failed
    QUARANTINED = "quarantined"
