"""A run in the format of SWE-bench's reports: package `swebench` 5.0, schema_version 2.

An attempt that failed because of the infrastructure or the task is an error there, never
unresolved; so is a final test that timed out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentbench.agents.predictions import NO_PREDICTION
from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import FAILING_OUTCOMES, AgentEnding, CaseOutcome, NodeId
from agentbench.tasks.dataset_rows import SwebenchOrigin, read_origin
from agentbench.taxonomy import FailureReason, Fault, StageName

_WITHOUT_ANSWER = frozenset({AgentEnding.TOOL_ERROR, AgentEnding.CRASHED})


class InstanceOutcome(StrEnum):
    """The outcome of an instance, in SWE-bench's terms."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY_PATCH = "empty_patch"
    ERROR = "error"
    INCOMPLETE = "incomplete"  # without a prediction


class SwebenchRunReport(Schema):
    """The report of a run, with keys in SWE-bench's order."""

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


class SuccessAndFailure(Schema):
    """Test names by outcome."""

    success: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()


class StatusOfTests(Schema):
    """The outcomes of the deciding tests; the last two lists are always empty."""

    FAIL_TO_PASS: SuccessAndFailure
    PASS_TO_PASS: SuccessAndFailure
    FAIL_TO_FAIL: SuccessAndFailure = SuccessAndFailure()
    PASS_TO_FAIL: SuccessAndFailure = SuccessAndFailure()


class SwebenchInstanceReport(Schema):
    """The report of one judged instance."""

    patch_is_none: Literal[False] = Field(default=False, serialization_alias="patch_is_None")
    patch_exists: Literal[True] = True
    patch_successfully_applied: Literal[True] = True
    resolved: bool
    infra_failure: Literal[False] = False
    tests_status: StatusOfTests


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedInstance:
    """A task of a run, its instance, and the attempt, if there was one."""

    origin: SwebenchOrigin | None  # None: not imported from an instance
    task_id: str
    record: AttemptRecord | None

    @property
    def instance_id(self) -> str:
        return self.origin.instance_id if self.origin is not None else self.task_id


def outcome_of(record: AttemptRecord | None) -> InstanceOutcome:
    """The outcome of an attempt in SWE-bench's terms."""
    if record is None or (record.agent_run and record.agent_run.detail == NO_PREDICTION):
        return InstanceOutcome.INCOMPLETE
    ran_out_of_time = any(
        failure.stage is StageName.FINAL_TEST and failure.reason is FailureReason.TIMEOUT
        for failure in record.failures
    )
    # An attempt that nothing judged is an error in SWE-bench, never unresolved.
    if record.fault in {Fault.INFRASTRUCTURE, Fault.TASK} or ran_out_of_time:
        return InstanceOutcome.ERROR
    if record.patch is None or not (record.patch.files or record.patch.dropped):
        failed = record.agent_run is not None and record.agent_run.ending in _WITHOUT_ANSWER
        return InstanceOutcome.ERROR if failed else InstanceOutcome.EMPTY_PATCH
    return InstanceOutcome.RESOLVED if record.resolved else InstanceOutcome.UNRESOLVED


def run_report(instances: Sequence[ReportedInstance]) -> SwebenchRunReport:
    """The report of a run."""
    outcomes = [(each.instance_id, outcome_of(each.record)) for each in instances]
    ids = {
        one: tuple(sorted(name for name, is_ in outcomes if is_ is one)) for one in InstanceOutcome
    }
    completed = sorted((*ids[InstanceOutcome.RESOLVED], *ids[InstanceOutcome.UNRESOLVED]))
    others = (*ids[InstanceOutcome.EMPTY_PATCH], *ids[InstanceOutcome.ERROR])
    infrastructure_failures = {
        each.instance_id: str(each.record.failure_reason)
        for each in instances
        if each.record is not None and each.record.fault is Fault.INFRASTRUCTURE
    }
    groups: dict[str, Sequence[str]] = {
        **{one.value: names for one, names in ids.items()},
        "completed": completed,
        "submitted": sorted((*completed, *others)),
        "infra_failure": sorted(infrastructure_failures),
    }
    lists = {f"{name}_ids": tuple(members) for name, members in groups.items()}
    counts = {f"{name}_instances": len(members) for name, members in groups.items()}
    # SWE-bench has no such key.
    del counts["incomplete_instances"]
    return SwebenchRunReport.model_validate(
        {
            "total_instances": len(instances),
            "failure_reasons": dict(sorted(infrastructure_failures.items())),
            **counts,
            **lists,
        }
    )


def instance_report(instance: ReportedInstance) -> SwebenchInstanceReport | None:
    """The report of one instance; None if it was not judged, as in SWE-bench."""
    record = instance.record
    judged = {InstanceOutcome.RESOLVED, InstanceOutcome.UNRESOLVED}
    if record is None or outcome_of(record) not in judged:
        return None
    final = {test.node_id: test.final for test in record.tests}
    # The names of another task are its node ids.
    origin = instance.origin or SwebenchOrigin(
        instance_id=instance.task_id,
        repo="",
        fail_to_pass=tuple(t.node_id for t in record.tests if t.listed == "fail_to_pass"),
        pass_to_pass=tuple(t.node_id for t in record.tests if t.listed == "pass_to_pass"),
    )
    fixed = {name: origin.ids_of(name) for name in origin.fail_to_pass}
    passing = {name: origin.ids_of(name) for name in origin.pass_to_pass}
    return SwebenchInstanceReport(
        resolved=record.resolved,
        tests_status=StatusOfTests(
            FAIL_TO_PASS=_success_and_failure(fixed, final, good=frozenset({CaseOutcome.PASSED})),
            PASS_TO_PASS=_success_and_failure(
                passing, final, good=frozenset(CaseOutcome) - FAILING_OUTCOMES
            ),
        ),
    )


def _success_and_failure(
    names: Mapping[str, tuple[NodeId, ...]],
    final: Mapping[NodeId, CaseOutcome | None],
    *,
    good: frozenset[CaseOutcome],
) -> SuccessAndFailure:
    """The names by success: all tests of a name must succeed; names without tests are skipped."""
    success_of = {
        name: all(final.get(one) in good for one in ids) for name, ids in names.items() if ids
    }
    return SuccessAndFailure(
        success=tuple(name for name, is_good in success_of.items() if is_good),
        failure=tuple(name for name, is_good in success_of.items() if not is_good),
    )


def reported_instances(run: ReportedRun) -> tuple[ReportedInstance, ...]:
    """An instance for each task of a run, with the first attempt, since SWE-bench has only one.

    A task whose folder is missing, or that was not imported, has its own id.

    Raises:
        InputError: run.json, a record or a task's swebench.json is damaged.
    """
    first = [number for number in run.latest if run.reading.summaries[number].attempt == 1]
    records = {record.task_id: record for record in run.reading.records(first)}
    return tuple(
        ReportedInstance(
            origin=read_origin(Path(task.folder)), task_id=task.id, record=records.get(task.id)
        )
        for task in RunStore.open(run.folder).configuration().tasks
    )
