"""Proving tasks: the reference solution resolves each, doing nothing does not, none is flaky."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentbench.runs.record import AttemptRecord
from agentbench.scoring.evidence import CaseOutcome, NodeId, StageName
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

Outcomes = Mapping[NodeId, CaseOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProof:
    """What running a task with the oracle and with no agent has shown."""

    task_id: TaskId
    faults: tuple[str, ...]
    flaky: tuple[NodeId, ...]
    runs: int

    @property
    def valid(self) -> bool:
        """Whether the task may be used."""
        return not self.faults and not self.flaky


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIds:
    """Which tests the reference solution fixes, and which pass before and after."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]


def prove(task: Task, oracle: Sequence[AttemptRecord], noop: Sequence[AttemptRecord]) -> TaskProof:
    """Hold a task against the records of some oracle and some no-op attempts at it."""
    faults = dict.fromkeys([*_oracle_faults(oracle), *_noop_faults(task, noop)])
    if not oracle or not noop:
        faults["not every attempt was made, so nothing is proved"] = None
    finals_before = [_outcomes(record, StageName.FINAL_TEST) for record in noop]
    baselines = [_outcomes(record, StageName.BASELINE_RUN) for record in (*oracle, *noop)]
    finals_after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    return TaskProof(
        task_id=task.id,
        faults=tuple(faults),
        flaky=tuple(sorted({*_differing([*baselines, *finals_before]), *_differing(finals_after)})),
        runs=len(oracle) + len(noop),
    )


def found_ids(oracle: Sequence[AttemptRecord]) -> FoundIds:
    """The ids that a task's own runs give, of attempts that were judged without a list."""
    before = [_outcomes(record, StageName.BASELINE_RUN) for record in oracle]
    after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    flaky = _differing(before) | _differing(after)
    passing = {
        node_id: None
        for outcomes in after[:1]
        for node_id, outcome in outcomes.items()
        if outcome is CaseOutcome.PASSED and node_id not in flaky
    }
    once = before[0] if before else {}
    return FoundIds(
        fail_to_pass=tuple(n for n in passing if once.get(n) is not CaseOutcome.PASSED),
        pass_to_pass=tuple(n for n in passing if once.get(n) is CaseOutcome.PASSED),
    )


def _oracle_faults(records: Sequence[AttemptRecord]) -> Iterable[str]:
    for record in records:
        if not record.resolved:
            yield f"the reference solution ends in {record.failure_reason}: {record.detail}"
        yield from record.warnings


def _noop_faults(task: Task, records: Sequence[AttemptRecord]) -> Iterable[str]:
    for record in records:
        if record.resolved:
            yield "an agent that does nothing resolves it"
            continue
        final = _outcomes(record, StageName.FINAL_TEST)
        early = [n for n in task.answer_key.fail_to_pass if final.get(n) is CaseOutcome.PASSED]
        if early:
            yield f"passes without a fix, though listed as fail_to_pass: {', '.join(early)}"


def _outcomes(record: AttemptRecord, name: StageName) -> Outcomes:
    for stage in record.stages:
        if stage.name is name and stage.evidence.report is not None:
            return {case.node_id: case.outcome for case in stage.evidence.report.cases}
    return {}


def _differing(runs: Sequence[Outcomes]) -> set[NodeId]:
    known = [outcomes for outcomes in runs if outcomes]
    every = {node_id for outcomes in known for node_id in outcomes}
    return {n for n in every if len({outcomes.get(n) for outcomes in known}) > 1}
