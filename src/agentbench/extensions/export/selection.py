"""The attempts that an export takes, by their verdicts and names."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from agentbench.errors import UsageError
from agentbench.extensions.export.option_values import ExportFormat, VerdictKind
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import FailureReason, Fault

_ALL = frozenset(VerdictKind)
ALLOWED: Mapping[ExportFormat, frozenset[VerdictKind]] = MappingProxyType(
    {
        ExportFormat.ATIF: _ALL,
        ExportFormat.SFT: frozenset({VerdictKind.RESOLVED, VerdictKind.FAILED}),
        ExportFormat.PREFERENCE: _ALL - {VerdictKind.NO_VERDICT},
        ExportFormat.PARQUET: _ALL,
    }
)
"""The verdicts that each format may have."""
DEFAULT: Mapping[ExportFormat, frozenset[VerdictKind]] = MappingProxyType(
    {
        ExportFormat.ATIF: _ALL,
        ExportFormat.SFT: frozenset({VerdictKind.RESOLVED}),
        ExportFormat.PREFERENCE: frozenset({VerdictKind.RESOLVED, VerdictKind.FAILED}),
        ExportFormat.PARQUET: _ALL,
    }
)
"""The verdicts that each format has without `--verdict`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Filters; an empty one lets everything pass."""

    verdicts: frozenset[VerdictKind]
    reasons: frozenset[FailureReason] = frozenset()  # only of attempts that are not resolved
    faults: frozenset[Fault] = frozenset()  # the same
    task: str | None = None  # globs
    agent: str | None = None
    model: str | None = None

    def takes(self, attempt: AttemptSummary) -> bool:
        """Whether an attempt passes all filters."""
        if verdict_kind(attempt) not in self.verdicts:
            return False
        # A resolved attempt has neither a reason nor a fault.
        if not attempt.resolved:
            if self.reasons and attempt.failure_reason not in self.reasons:
                return False
            if self.faults and attempt.fault not in self.faults:
                return False
        names = (
            (self.task, attempt.task_id),
            (self.agent, attempt.agent),
            (self.model, attempt.model or ""),
        )
        return all(glob is None or fnmatchcase(name, glob) for glob, name in names)


def verdict_kind(attempt: AttemptSummary) -> VerdictKind:
    """The kind of an attempt's verdict."""
    if attempt.quarantined:
        return VerdictKind.QUARANTINED
    if attempt.resolved:
        return VerdictKind.RESOLVED
    return VerdictKind.FAILED if attempt.fault is Fault.AGENT else VerdictKind.NO_VERDICT


def verdicts_for(
    format_name: ExportFormat, given: frozenset[VerdictKind]
) -> frozenset[VerdictKind]:
    """The verdicts of an export."""
    if not given:
        return DEFAULT[format_name]
    refused = sorted(given - ALLOWED[format_name])
    if refused:
        allowed = ", ".join(sorted(ALLOWED[format_name]))
        raise UsageError(
            f"--format {format_name}: expected --verdict {allowed}; found {', '.join(refused)}"
        )
    if format_name is ExportFormat.PREFERENCE and (
        VerdictKind.RESOLVED not in given or len(given) == 1
    ):
        raise UsageError(
            "--format preference: expected --verdict resolved and failed or quarantined, "
            f"found {', '.join(sorted(given))}; a pair needs both sides"
        )
    return given
