"""Proves tasks from records.

The reference solution resolves each, doing nothing does not, and no test ends differently in equal
runs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from agentbench.attempt.record import AttemptRecord
from agentbench.integrity.records import WeakControl
from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

Outcomes = Mapping[NodeId, CaseOutcome]
"""What became of each test of one run."""


def flake_rates(equal_runs: Sequence[Outcomes]) -> dict[NodeId, float]:
    """The share of the runs in which a test did not end as in most; tests that always did are out.

    A test that is missing from a run counts as one that ended otherwise; a run that shows no test
    at all tells nothing.
    """
    known = [outcomes for outcomes in equal_runs if outcomes]
    rates = {}
    for node_id in sorted({node_id for outcomes in known for node_id in outcomes}):
        endings = Counter(outcomes.get(node_id) for outcomes in known)
        if len(endings) > 1:
            rates[node_id] = 1 - max(endings.values()) / len(known)
    return rates


def worst_rates(*groups: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Each test with the highest of its rates."""
    every = {node_id for group in groups for node_id in group}
    return {n: max(group.get(n, 0.0) for group in groups) for n in sorted(every)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProof:
    """What running a task with the oracle and with no agent has shown."""

    task_id: TaskId
    faults: tuple[str, ...]
    flaky: tuple[NodeId, ...]
    runs: int
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """Of each flaky test: the share of its runs in which it did not end as in most."""
    seconds: Mapping[StageName, float] = field(default_factory=dict)
    """The median of what each stage took; a stage that was taken from the cache is not counted."""
    peak_memory_mib: float | None = None
    """The most that a command of a stage used at once, where the sandbox counts it."""
    controlled: tuple[NodeId, ...] = ()
    """The fail_to_pass tests that failed in a blind run when a value in them was changed."""
    to_control: int = 0
    """How many fail_to_pass tests there are."""
    weakly_controlled: tuple[WeakControl, ...] = ()
    regression_tests: int = 0
    """How many tests have to pass before the reference solution and after it."""

    @property
    def valid(self) -> bool:
        """Whether the task may be used."""
        return not self.faults and not self.flaky


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingTests:
    """Which tests the reference solution fixes, and which pass before and after."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """Of those that are in neither list, since they did not end the same every time."""


def prove(task: Task, oracle: Sequence[AttemptRecord], noop: Sequence[AttemptRecord]) -> TaskProof:
    """Hold a task against the records of some oracle and some no-op attempts at it."""
    faults = dict.fromkeys([*_oracle_faults(oracle), *_noop_faults(task, noop)])
    if not oracle or not noop:
        faults["not every attempt was made, so nothing is proved"] = None
    rates = _flake_rates(task, oracle, noop)
    records = (*oracle, *noop)
    fixed = tuple(dict.fromkeys(test for record in oracle for test in _tests_to_fix(task, record)))
    by_value = {test for record in oracle for test in _controlled_tests(record)}
    weak = [
        one for record in oracle if record.controls for one in record.controls.weakly_controlled
    ]
    return TaskProof(
        task_id=task.id,
        faults=tuple(faults),
        flaky=tuple(rates),
        runs=len(records),
        flake_rates=rates,
        seconds=_seconds(records),
        peak_memory_mib=_peak_memory_mib(records),
        controlled=tuple(test for test in fixed if test in by_value),
        to_control=len(fixed),
        weakly_controlled=tuple(one for at, one in enumerate(weak) if one not in weak[:at]),
        regression_tests=max((_regression_tests(task, record) for record in oracle), default=0),
    )


def deciding_tests(oracle: Sequence[AttemptRecord]) -> DecidingTests:
    """The ids that a task's own runs give, of attempts that were judged without a list.

    A test that is skipped before and passes after was not seen to fail: it is among neither.
    """
    before = [_outcomes(record, StageName.BASELINE_RUN) for record in oracle]
    after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    flaky = worst_rates(flake_rates(before), flake_rates(after))
    passing = {
        node_id: None
        for outcomes in after[:1]
        for node_id, outcome in outcomes.items()
        if outcome is CaseOutcome.PASSED and node_id not in flaky
    }
    once = before[0] if before else {}
    unknown = {n for n in passing if once.get(n) is CaseOutcome.SKIPPED}
    return DecidingTests(
        fail_to_pass=tuple(
            n for n in passing if once.get(n) is not CaseOutcome.PASSED and n not in unknown
        ),
        pass_to_pass=tuple(n for n in passing if once.get(n) is CaseOutcome.PASSED),
        flake_rates=flaky,
    )


def without_ids(task: Task) -> Task:
    """The task as it is before anybody knows which tests decide: the whole run does."""
    key = task.answer_key.model_copy(update={"fail_to_pass": (), "pass_to_pass": ()})
    return task.model_copy(update={"answer_key": key})


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


def _tests_to_fix(task: Task, record: AttemptRecord) -> Iterable[NodeId]:
    """The tests to fix: those listed, or those that the reference solution was seen to fix."""
    if task.answer_key.fail_to_pass:
        return task.answer_key.fail_to_pass
    before = _outcomes(record, StageName.BASELINE_RUN)
    after = _outcomes(record, StageName.FINAL_TEST)
    passed = CaseOutcome.PASSED
    return [n for n, now in after.items() if now is passed and before.get(n) is not passed]


def _regression_tests(task: Task, record: AttemptRecord) -> int:
    key = task.answer_key
    if key.fail_to_pass and key.pass_to_pass != "baseline":
        return len(key.pass_to_pass)
    before = _outcomes(record, StageName.BASELINE_RUN)
    after = _outcomes(record, StageName.FINAL_TEST)
    passed = CaseOutcome.PASSED
    return sum(now is passed and before.get(n) is passed for n, now in after.items())


def _controlled_tests(record: AttemptRecord) -> Iterable[NodeId]:
    for run in record.controls.runs if record.controls else ():
        for test in run.tests:
            if test.must == "fail" and test.as_expected and not test.weak:
                yield test.node_id


def _outcomes(record: AttemptRecord, name: StageName) -> Outcomes:
    for stage in record.stages:
        if stage.name is name and stage.evidence.report is not None:
            return {case.node_id: case.outcome for case in stage.evidence.report.cases}
    return {}


def _flake_rates(
    task: Task, oracle: Sequence[AttemptRecord], noop: Sequence[AttemptRecord]
) -> dict[NodeId, float]:
    """Of the tests that are not quarantined already; before the fix and after it are two things."""
    before = [_outcomes(record, StageName.BASELINE_RUN) for record in (*oracle, *noop)]
    before += [_outcomes(record, StageName.FINAL_TEST) for record in noop]
    after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    rates = worst_rates(flake_rates(before), flake_rates(after))
    apart = set(task.answer_key.quarantined)
    return {node_id: rate for node_id, rate in rates.items() if node_id not in apart}


def _seconds(records: Sequence[AttemptRecord]) -> dict[StageName, float]:
    taken: dict[StageName, list[float]] = {}
    for record in records:
        for stage in record.stages:
            if not stage.cached:
                taken.setdefault(stage.name, []).append(stage.duration_s)
    return {name: median(seconds) for name, seconds in taken.items()}


def _peak_memory_mib(records: Sequence[AttemptRecord]) -> float | None:
    peaks = [
        stage.peak_memory_bytes
        for record in records
        for stage in record.stages
        if stage.peak_memory_bytes
    ]
    return max(peaks) / 2**20 if peaks else None
