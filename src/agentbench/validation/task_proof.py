"""Decides from records whether a task is valid.

Its reference solution must resolve it, doing nothing must not, and no test may be flaky.
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
"""The outcome of each test of one run."""


def flake_rates(equal_runs: Sequence[Outcomes]) -> dict[NodeId, float]:
    """For each flaky test, the share of runs with a minority outcome.

    A test that is missing from a run has another outcome there; a run without any test is ignored.
    """
    known = [outcomes for outcomes in equal_runs if outcomes]
    rates = {}
    for node_id in sorted({node_id for outcomes in known for node_id in outcomes}):
        endings = Counter(outcomes.get(node_id) for outcomes in known)
        if len(endings) > 1:
            rates[node_id] = 1 - max(endings.values()) / len(known)
    return rates


def worst_rates(*groups: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Each test with its highest rate."""
    every = {node_id for group in groups for node_id in group}
    return {n: max(group.get(n, 0.0) for group in groups) for n in sorted(every)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProof:
    """The results of running a task with its reference solution and without an agent."""

    task_id: TaskId
    faults: tuple[str, ...]
    flaky: tuple[NodeId, ...]
    runs: int
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """For each flaky test, the share of its runs with a minority outcome."""
    seconds: Mapping[StageName, float] = field(default_factory=dict)
    """The median duration of each stage, without cached ones."""
    peak_memory_mib: float | None = None
    """The peak memory of each stage's commands, if the sandbox measures it."""
    controlled: tuple[NodeId, ...] = ()
    """The fail_to_pass tests that failed in a control run after a value in them was changed."""
    to_control: int = 0
    """The number of fail_to_pass tests."""
    weakly_controlled: tuple[WeakControl, ...] = ()
    regression_tests: int = 0
    """The number of tests that must pass before and after the reference solution."""

    @property
    def valid(self) -> bool:
        """Whether the task is valid."""
        return not self.faults and not self.flaky


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingTests:
    """The tests that the reference solution fixes, and those that pass before and after it."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """The rates of flaky tests, which are in neither list."""


def prove(task: Task, oracle: Sequence[AttemptRecord], noop: Sequence[AttemptRecord]) -> TaskProof:
    """Compare a task with records of attempts by the oracle and by the no-op agent."""
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
    """The test ids that a task's own runs show, from attempts that were judged without lists.

    A test that is skipped before the solution and passes after it did not fail: it is in no list.
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
    """The task without lists of tests, so that the whole run decides."""
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
    """The tests to fix: the listed ones, or those that the reference solution fixed."""
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
    """The rates of tests that are not quarantined yet, separately before and after the fix."""
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
