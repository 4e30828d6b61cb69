"""Decides whether a task is valid, by running its reference solution and no agent."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from statistics import median

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import parse_patch
from agentbench.core.display_text import list_with_more
from agentbench.integrity.records import (
    PROTECTED_BY_TASK,
    TEST_OF_TASK,
    ControlKind,
    WeakControl,
)
from agentbench.report.attempt_files import files_in
from agentbench.report.cause_text import cause_facts
from agentbench.report.failure_cause import find_cause
from agentbench.runs.options import VALIDATION, RunOptions
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.runs.store.store import RunStore, new_run_id
from agentbench.scoring.evidence import (
    CaseFact,
    CaseOutcome,
    NodeId,
    PytestOutcome,
    ReportFacts,
)
from agentbench.scoring.expectation import reported_cases
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.task import Task
from agentbench.tasks.test_command import TestCommand
from agentbench.tasks.test_runner_name import Runner
from agentbench.tasks.writing import write_test_lists
from agentbench.taxonomy import Fault, StageName
from agentbench.test_runs.runners import runner_of
from agentbench.validation.environment.found_tests import is_collected_by_default

_MAX_DROPPED = 3  # files that an explanation names
_MAX_NAMED = 5  # tests that a fault names
Outcomes = Mapping[NodeId, CaseOutcome]
"""The outcome of each test of one run."""
FollowRun = Callable[[Run], None]
"""Runs the attempts and shows them; raises if it is interrupted."""


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

    faults: tuple[str, ...]
    flaky: tuple[NodeId, ...]
    runs: int
    resolved_by_reference: int = 0
    """The number of attempts by the oracle that are resolved."""
    resolved_by_noop: int = 0
    """The same for the agent that does nothing."""
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """For each flaky test, the share of its runs with a minority outcome."""
    seconds: Mapping[StageName, float] = field(default_factory=dict)
    """The median duration of each stage, without cached ones."""
    peak_memory_mib: float | None = None
    """The peak memory of each stage's commands, if the sandbox measures it."""
    controlled: tuple[NodeId, ...] = ()
    """The fail_to_pass tests that are sealed, or failed in a blind run by a changed value."""
    sealed: tuple[NodeId, ...] = ()
    """Those of them whose values were right before they were in any sandbox."""
    unsealed: Mapping[NodeId, str] = field(default_factory=dict)
    """Why the others are not sealed."""
    to_control: int = 0  # the number of fail_to_pass tests
    weakly_controlled: tuple[WeakControl, ...] = ()
    regression_tests: int = 0
    """The number of tests that must pass before and after the reference solution."""
    undecided: bool = False
    """Whether an attempt failed because of the infrastructure, so that the result is unknown."""
    explanation: tuple[str, ...] = ()
    """Of an invalid task: the first failing test or cause, and the commands that show the runs."""
    sandbox: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingTests:
    """The tests that the reference solution fixes, and those that pass before and after it."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    flake_rates: Mapping[NodeId, float] = field(default_factory=dict)
    """The rates of flaky tests, which are in neither list."""


def prove(task: Task, oracle: Sequence[AttemptRecord], noop: Sequence[AttemptRecord]) -> TaskProof:
    """Compare a task with records of attempts by the oracle and by the no-op agent."""
    key, records = task.answer_key, (*oracle, *noop)
    faults: dict[str, None] = {}
    for record in oracle:
        if not record.resolved:
            reason = f"the reference solution ends in {record.failure_reason}: {record.detail}"
            faults[reason] = None
        faults |= dict.fromkeys(record.warnings)
    for record in noop:
        if record.resolved:
            faults["an agent that does nothing resolves it"] = None
            continue
        final = _outcomes(record, StageName.FINAL_TEST)
        listed = record.expected_node_ids().fail_to_pass
        early = [n for n in listed if final.get(n) is CaseOutcome.PASSED]
        if early:
            what = f"passes without a fix, though listed as fail_to_pass: {', '.join(early)}"
            faults[what] = None
    ran = final_outcomes(oracle)
    if ran and key.fail_to_pass and not uncollected_files(oracle):
        listed = oracle[0].expected_node_ids().fail_to_pass
        if unknown := [node_id for node_id in listed if node_id not in ran]:
            names = list_with_more(unknown, _MAX_NAMED)
            faults[f"fail_to_pass lists what no run has; --write-ids finds the ids: {names}"] = None
    if not oracle or not noop:
        faults["not every attempt was made, so nothing is proved"] = None

    # A test may differ before and after the fix without being flaky.
    before = [_outcomes(record, StageName.BASELINE_RUN) for record in records]
    before += [_outcomes(record, StageName.FINAL_TEST) for record in noop]
    after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    worst = worst_rates(flake_rates(before), flake_rates(after))
    rates = {node_id: rate for node_id, rate in worst.items() if node_id not in key.quarantined}

    # Without lists, the reference solution shows which tests are to be fixed or must keep passing.
    fixed: dict[NodeId, None] = {}
    regression_tests = 0
    for record in oracle:
        passing = _passing(record)
        unlisted = [node_id for node_id, passed_before in passing.items() if not passed_before]
        to_fix = record.expected_node_ids().fail_to_pass if key.fail_to_pass else unlisted
        fixed |= dict.fromkeys(to_fix)
        is_listed = key.fail_to_pass and key.pass_to_pass != "baseline"
        count = len(key.pass_to_pass) if is_listed else sum(passing.values())
        regression_tests = max(regression_tests, count)

    controls = [record.controls for record in oracle if record.controls]
    kinds = [(test.node_id, test.control) for each in controls for test in each.tests]
    sealed = {node_id for node_id, kind in kinds if kind is ControlKind.SEALED}
    by_value = sealed | {node_id for node_id, kind in kinds if kind is ControlKind.BLIND}
    weak = dict.fromkeys(one for each in controls for one in each.weakly_controlled)

    stages = [stage for record in records for stage in record.stages]
    durations: dict[StageName, list[float]] = {}
    for stage in stages:
        if not stage.cached:
            durations.setdefault(stage.name, []).append(stage.duration_s)
    peak = max((stage.peak_memory_bytes or 0 for stage in stages), default=0)
    return TaskProof(
        faults=tuple(faults),
        flaky=tuple(rates),
        runs=len(records),
        resolved_by_reference=sum(record.resolved for record in oracle),
        resolved_by_noop=sum(record.resolved for record in noop),
        flake_rates=rates,
        seconds={name: median(seconds) for name, seconds in durations.items()},
        peak_memory_mib=peak / 2**20 or None,
        controlled=tuple(test for test in fixed if test in by_value),
        sealed=tuple(test for test in fixed if test in sealed),
        unsealed={
            test.node_id: test.why
            for each in controls
            for test in each.tests
            if test.why is not None and test.node_id not in sealed
        },
        to_control=len(fixed),
        weakly_controlled=tuple(weak),
        regression_tests=regression_tests,
        undecided=any(record.fault is Fault.INFRASTRUCTURE for record in records),
    )


def deciding_tests(oracle: Sequence[AttemptRecord]) -> DecidingTests:
    """The test ids that a task's own runs show, from attempts that were judged without lists.

    A test that is skipped before the solution and passes after it did not fail: it is in no list.
    """
    before = [_outcomes(record, StageName.BASELINE_RUN) for record in oracle]
    after = [_outcomes(record, StageName.FINAL_TEST) for record in oracle]
    flaky = worst_rates(flake_rates(before), flake_rates(after))
    once, fixed = (before[0], after[0]) if oracle else ({}, {})
    passed = CaseOutcome.PASSED
    passing = [n for n, outcome in fixed.items() if outcome is passed and n not in flaky]
    did_not_fail = {passed, CaseOutcome.SKIPPED}
    return DecidingTests(
        fail_to_pass=tuple(n for n in passing if once.get(n) not in did_not_fail),
        pass_to_pass=tuple(n for n in passing if once.get(n) is passed),
        flake_rates=flaky,
    )


def final_outcomes(oracle: Sequence[AttemptRecord]) -> Outcomes:
    """The outcomes of the tests with the reference solution, in the first attempt.

    Empty if that run did not reach its end: then a test without an outcome may be a good one.
    """
    # Lists that were changed after a run that was cut off lost good tests.
    ended = {PytestOutcome.PASSED, PytestOutcome.FAILED, PytestOutcome.COLLECTION_ERROR}
    report = _final_report(oracle)
    if report is None or not report.complete or report.outcome not in ended:
        return {}
    return {case.node_id: case.outcome for case in report.cases}


def uncollected_files(oracle: Sequence[AttemptRecord]) -> frozenset[str]:
    """The files that could not be collected with the reference solution, in the first attempt."""
    report = _final_report(oracle)
    errors = report.collection_errors if report is not None else ()
    return frozenset(name.partition("::")[0] for name in errors)


def _final_report(oracle: Sequence[AttemptRecord]) -> ReportFacts | None:
    final = (s for each in oracle[:1] for s in each.stages if s.name is StageName.FINAL_TEST)
    return next((stage.evidence.report for stage in final), None)


def named_tests(records: Sequence[AttemptRecord]) -> dict[NodeId, CaseFact]:
    """The tests with names that their runner prints, in any run; empty for pytest."""
    return {
        case.node_id: case
        for record in records
        for stage in record.stages
        for case in reported_cases(stage.evidence)
        if case.names
    }


def without_listed_tests(task: Task) -> Task:
    """The task before its tests are known, so that the whole run decides.

    The run goes on after files that cannot be collected.
    """
    key = task.answer_key.replace(fail_to_pass=(), pass_to_pass=())
    task = task.replace(answer_key=key)
    if task.problem.tests.runner is not Runner.PYTEST:
        return task  # the other runners continue anyway
    command = f"{task.problem.test_command} --continue-on-collection-errors"
    return with_problem(task, test_command=command)


def with_problem(task: Task, **changes: object) -> Task:
    """The task with some fields of its problem changed."""
    return task.replace(problem=task.problem.replace(**changes))


def _passing(record: AttemptRecord) -> dict[NodeId, bool]:
    """The tests that pass in the end, and whether they passed before."""
    before = _outcomes(record, StageName.BASELINE_RUN)
    after, passed = _outcomes(record, StageName.FINAL_TEST), CaseOutcome.PASSED
    return {n: before.get(n) is passed for n, now in after.items() if now is passed}


def _outcomes(record: AttemptRecord, name: StageName) -> Outcomes:
    for stage in record.stages:
        if stage.name is name and stage.evidence.report is not None:
            return {case.node_id: case.outcome for case in stage.evidence.report.cases}
    return {}


def run_proofs(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> dict[Path, TaskProof]:
    """Run every task with both agents; the results are by folder.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    if not tasks:
        return {}
    run_id = f"validate-{new_run_id(datetime.now(UTC))}"
    every = tuple(tasks.values())
    oracle, noop = (
        run_to_end(every, options.replace(agent=agent, run_id=f"{run_id}-{agent}"), follow)
        for agent in ("oracle", "noop")
    )
    return {
        folder: replace(
            prove(task, oracle.of(task), noop.of(task)),
            sandbox=oracle.sandbox,
            explanation=tuple(_explanation(task, oracle, noop)),
        )
        for folder, task in tasks.items()
    }


def _explanation(task: Task, oracle: "FinishedRun", noop: "FinishedRun") -> Iterator[str]:
    """Why the first unexpected attempts of both agents ended as they did."""
    # "1 of 3 tests failed" alone says nothing: name the test, its assertion and its values.
    failed = next((record for record in oracle.of(task) if not record.resolved), None)
    if failed is not None:
        cause = find_cause(failed, files_in(oracle.store.folder_of(failed)))
        assert cause is not None  # it is not resolved
        yield cause.summary
        for fact in cause_facts(cause):
            yield f"{fact.label}: {' '.join(fact.lines)}"
        dropped = failed.patch.dropped if failed.patch is not None else ()
        # The solution cannot fix a file that the task's own paths or protected cover.
        for each in dropped[:_MAX_DROPPED]:
            covered = each.why in {TEST_OF_TASK, PROTECTED_BY_TASK}
            how = "; [tests] paths or protected cover it" if covered else ""
            yield f"the reference solution's change to {each.path} is not judged: {each.why}{how}"
        yield _show_command(oracle, failed)
    resolved = next((record for record in noop.of(task) if record.resolved), None)
    if resolved is not None:
        yield _show_command(noop, resolved)


def _show_command(run: "FinishedRun", record: AttemptRecord) -> str:
    words = ["agentbench", "show", str(run.store.folder), record.task_id]
    number = [str(record.attempt)] if record.attempt > 1 else []
    return f"its run: {shlex.join([*words, *number])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A whole run: its last records, and its sandbox."""

    records: tuple[AttemptRecord, ...]
    sandbox: str
    store: RunStore

    def of(self, task: Task) -> list[AttemptRecord]:
        return [record for record in self.records if record.task_id == task.id]


def run_to_end(tasks: Sequence[Task], options: RunOptions, follow: FollowRun) -> FinishedRun:
    """Run to the end, in the folder of validation runs.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    run = start_run(tasks, options.replace(runs_dir=options.runs_dir / VALIDATION))
    follow(run)
    sandbox = run.configuration.sandbox
    return FinishedRun(records=run.store.latest(), sandbox=sandbox, store=run.store)


def find_deciding_tests(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> dict[Path, str]:
    """Write fail_to_pass and pass_to_pass into each task.toml; returns failures with reasons.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    faults, unjudged = _find_and_write(tasks, options, follow)
    # The whole suite can exceed the sandbox's limits, or end pytest before a test runs.
    narrow = {folder: _narrowed(tasks[folder]) for folder in faults}
    again = {folder: task for folder, task in narrow.items() if task is not None}
    if again:
        names = ", ".join(task.id for task in again.values())
        options.say(f"{names}: running only the test files that the hidden tests change")
    remaining = {folder: fault for folder, fault in faults.items() if folder not in again}
    faults, more = _find_and_write(again, options, follow)
    return remaining | faults | unjudged | more


def _find_and_write(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> tuple[dict[Path, str], dict[Path, str]]:
    """Write the lists; returns failures, and those that fewer test files would only hide."""
    if not tasks:
        return {}, {}
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    names_options = options.replace(
        agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF
    )
    finished_run = run_to_end(
        [without_listed_tests(task) for task in tasks.values()], names_options, follow
    )
    faults: dict[Path, str] = {}
    unjudged: dict[Path, str] = {}
    for folder, task in tasks.items():
        records = finished_run.of(task)
        ids = deciding_tests(records)
        if names := _unjudged_files(records):  # a flaky test may pass in spite of it
            unjudged[folder] = (
                f"no file of the reference solution is judged: {names}; [tests] paths must not "
                "contain what the solution changes"
            )
            continue
        if not ids.fail_to_pass:
            why = details_of(records)
            faults[folder] = f"the reference solution makes no failing test pass{why}"
            continue
        pass_to_pass = None if task.answer_key.pass_to_pass == "baseline" else ids.pass_to_pass
        fixed, rates = ids.fail_to_pass, ids.flake_rates
        path = folder / TASK_FILE
        write_test_lists(path, fail_to_pass=fixed, pass_to_pass=pass_to_pass, quarantined=rates)
        written = f"{len(fixed)} fail_to_pass"
        written += (
            f" and {len(pass_to_pass)} pass_to_pass ids" if pass_to_pass is not None else " ids"
        )
        options.say(f"{path}: {written} written")
    return faults, unjudged


def _unjudged_files(records: Sequence[AttemptRecord]) -> str:
    """The files of a reference solution of which none is judged; empty if one is."""
    patches = [record.patch for record in records if record.patch is not None]
    if not patches or any(patch.files for patch in patches):
        return ""
    dropped = dict.fromkeys(f"{one.path} ({one.why})" for each in patches for one in each.dropped)
    return list_with_more(list(dropped), _MAX_DROPPED)


def details_of(records: Sequence[AttemptRecord]) -> str:
    """How attempts failed, in parentheses after a space; empty if their details are empty."""
    details = sorted({record.detail for record in records if record.detail})
    return f" ({'; '.join(details)})" if details else ""


def _narrowed(task: Task) -> Task | None:
    """The task with only the test files that its hidden tests change; None: it has no others."""
    changed = [file.path for file in parse_patch(task.answer_key.tests_patch) if not file.removed]
    files = tuple(path for path in changed if _may_have_tests(path, task.problem.tests))
    changes_others = files and files != task.problem.test_paths
    return with_problem(task, test_paths=files) if changes_others else None


def _may_have_tests(path: str, command: TestCommand) -> bool:
    match command.runner:
        case Runner.PYTEST:
            return is_collected_by_default(path)
        case Runner.UNITTEST | Runner.DJANGO:
            return path.endswith(".py")
        case _:
            return runner_of(command).is_test_file(PurePosixPath(path))
