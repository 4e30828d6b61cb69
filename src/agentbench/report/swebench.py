"""A run in the form of SWE-bench's own reports, which leaderboards and scripts read.

The keys and what they count are those of the package `swebench` 5.0 (schema_version 2), held
against its code by a test. An attempt that the infrastructure or the task failed is an error there,
never unresolved; so is a final test that ran out of time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field

from agentbench.agents.predictions import NO_PREDICTION
from agentbench.runs.record import AttemptRecord
from agentbench.schema import Schema
from agentbench.scoring.evidence import AgentEnding, CaseOutcome, NodeId, StageName
from agentbench.scoring.expectation import BAD
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.tasks.importers.swebench.origin import Origin

_FAILED_TO_ANSWER = frozenset({AgentEnding.TOOL_ERROR, AgentEnding.CRASHED})


class Outcome(StrEnum):
    """What became of an instance, in SWE-bench's words."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY_PATCH = "empty_patch"
    ERROR = "error"
    INCOMPLETE = "incomplete"  # there is no prediction


class RunReport(Schema):
    """The report of a run; the order of its keys is that of SWE-bench's."""

    total_instances: int
    submitted_instances: int
    completed_instances: int
    resolved_instances: int
    unresolved_instances: int
    infra_failure_instances: int
    ambiguous_failure_instances: int = 0
    empty_patch_instances: int
    error_instances: int
    completed_ids: tuple[str, ...]
    incomplete_ids: tuple[str, ...]
    empty_patch_ids: tuple[str, ...]
    submitted_ids: tuple[str, ...]
    resolved_ids: tuple[str, ...]
    unresolved_ids: tuple[str, ...]
    infra_failure_ids: tuple[str, ...]
    ambiguous_failure_ids: tuple[str, ...] = ()
    failure_reasons: dict[str, str]
    error_ids: tuple[str, ...]
    schema_version: Literal[2] = 2


class Halves(Schema):
    """Some tests, by what became of them."""

    success: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()


class StatusOfTests(Schema):
    """What became of the tests that decide; the last two kinds are never filled in."""

    FAIL_TO_PASS: Halves
    PASS_TO_PASS: Halves
    FAIL_TO_FAIL: Halves = Halves()
    PASS_TO_FAIL: Halves = Halves()


class InstanceReport(Schema):
    """The report of one instance that was judged."""

    patch_is_none: Literal[False] = Field(default=False, serialization_alias="patch_is_None")
    patch_exists: Literal[True] = True
    patch_successfully_applied: Literal[True] = True
    resolved: bool
    infra_failure: Literal[False] = False
    tests_status: StatusOfTests


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedInstance:
    """A task of a run: what it was made of, and the attempt at it, if there was one."""

    origin: Origin | None  # None: it was not made of an instance
    task_id: str
    record: AttemptRecord | None

    @property
    def instance_id(self) -> str:
        """What SWE-bench calls it."""
        return self.origin.instance_id if self.origin is not None else self.task_id

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        return outcome_of(self.record)


def outcome_of(record: AttemptRecord | None) -> Outcome:
    """What SWE-bench would call the outcome of an attempt."""
    if record is None or (record.agent_run and record.agent_run.detail == NO_PREDICTION):
        return Outcome.INCOMPLETE
    if record.fault in {Fault.INFRASTRUCTURE, Fault.TASK} or _ran_out_of_time(record):
        return Outcome.ERROR
    if _changed_nothing(record):
        failed = record.agent_run is not None and record.agent_run.ending in _FAILED_TO_ANSWER
        return Outcome.ERROR if failed else Outcome.EMPTY_PATCH
    return Outcome.RESOLVED if record.resolved else Outcome.UNRESOLVED


def run_report(instances: Sequence[ReportedInstance]) -> RunReport:
    """The report of a run."""
    outcomes = [(each.instance_id, each.outcome) for each in instances]
    ids = {one: tuple(sorted(name for name, is_ in outcomes if is_ is one)) for one in Outcome}
    completed = tuple(sorted((*ids[Outcome.RESOLVED], *ids[Outcome.UNRESOLVED])))
    submitted = tuple(sorted((*completed, *ids[Outcome.EMPTY_PATCH], *ids[Outcome.ERROR])))
    lost = {
        each.instance_id: str(each.record.failure_reason)
        for each in instances
        if each.record is not None and each.record.fault is Fault.INFRASTRUCTURE
    }
    return RunReport(
        total_instances=len(instances),
        submitted_instances=len(submitted),
        completed_instances=len(completed),
        resolved_instances=len(ids[Outcome.RESOLVED]),
        unresolved_instances=len(ids[Outcome.UNRESOLVED]),
        infra_failure_instances=len(lost),
        empty_patch_instances=len(ids[Outcome.EMPTY_PATCH]),
        error_instances=len(ids[Outcome.ERROR]),
        completed_ids=completed,
        incomplete_ids=ids[Outcome.INCOMPLETE],
        empty_patch_ids=ids[Outcome.EMPTY_PATCH],
        submitted_ids=submitted,
        resolved_ids=ids[Outcome.RESOLVED],
        unresolved_ids=ids[Outcome.UNRESOLVED],
        infra_failure_ids=tuple(sorted(lost)),
        failure_reasons=dict(sorted(lost.items())),
        error_ids=ids[Outcome.ERROR],
    )


def instance_report(instance: ReportedInstance) -> InstanceReport | None:
    """The report of one instance; None where it was not judged, of which SWE-bench makes none."""
    record = instance.record
    if record is None or instance.outcome not in {Outcome.RESOLVED, Outcome.UNRESOLVED}:
        return None
    final = {test.node_id: test.final for test in record.tests}
    origin = instance.origin or _as_listed(instance, record)
    fixed = {name: origin.ids_of(name) for name in origin.fail_to_pass}
    kept = {name: origin.ids_of(name) for name in origin.pass_to_pass}
    return InstanceReport(
        resolved=record.resolved,
        tests_status=StatusOfTests(
            FAIL_TO_PASS=_halves(fixed, final, good=frozenset({CaseOutcome.PASSED})),
            PASS_TO_PASS=_halves(kept, final, good=frozenset(CaseOutcome) - BAD),
        ),
    )


def _as_listed(instance: ReportedInstance, record: AttemptRecord) -> Origin:
    """What a task would remember whose own ids are the names."""
    fixed = tuple(test.node_id for test in record.tests if test.listed == "fail_to_pass")
    kept = tuple(test.node_id for test in record.tests if test.listed == "pass_to_pass")
    return Origin(instance_id=instance.task_id, repo="", fail_to_pass=fixed, pass_to_pass=kept)


def _halves(
    names: Mapping[str, tuple[NodeId, ...]],
    final: Mapping[NodeId, CaseOutcome | None],
    *,
    good: frozenset[CaseOutcome],
) -> Halves:
    """A name is good when all tests that it means are; one that means none is left out."""
    told = {name: all(final.get(one) in good for one in ids) for name, ids in names.items() if ids}
    return Halves(
        success=tuple(name for name, is_good in told.items() if is_good),
        failure=tuple(name for name, is_good in told.items() if not is_good),
    )


def _changed_nothing(record: AttemptRecord) -> bool:
    return record.patch is None or not (record.patch.files or record.patch.dropped)


def _ran_out_of_time(record: AttemptRecord) -> bool:
    return any(
        failure.stage is StageName.FINAL_TEST and failure.reason is FailureReason.TIMEOUT
        for failure in record.failures
    )
