"""Blind runs: tests that expect wrong values, which must fail.

They come after a final test that passed, and control the tests that the sealed run does not. A test
that deviates is run once more, as it may be flaky. If it deviates again, or passed where it had to
fail, the same files are run with the reference solution. Deviations that the reference solution
shares are ignored and remembered, so that later attempts are controlled in another way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from agentbench.attempt.expected_tests import expected_tests, modules_of_tests
from agentbench.attempt.judged_tests import JudgedRuns
from agentbench.integrity.control_plan import (
    ControlledTests,
    ControlMemory,
    ControlPlan,
    KnownFunctions,
    PlannedControlRun,
)
from agentbench.integrity.records import (
    ControlKind,
    ControlledTest,
    ControlRun,
    Controls,
    TestControl,
    WeakControl,
)
from agentbench.scoring import expectation
from agentbench.scoring.evidence import Evidence, NodeId
from agentbench.scoring.node_ids import file_of, files_of
from agentbench.tasks.control_level import ControlLevel
from agentbench.test_runs.runner import TestRun

if TYPE_CHECKING:  # the engine that seals tests is imported when it is needed
    from agentbench.attempt.controls.sealed_runs import SealedResult
    from agentbench.integrity.sealing.plan import JudgedSeal


_PARTITIONS = (0, 1)
_ID_COMES_LATE = "its id is known only after the final test"
_NO_SEALED_RUN = "there was no sealed run"
_ROUNDS = 4
# Files without a test to fix that the blind runs control, too, if there are any.
_MOST_ELSEWHERE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindRuns:
    """The blind runs of an attempt."""

    runs: tuple[ControlRun, ...]
    weak: tuple[WeakControl, ...]

    @property
    def failed(self) -> dict[NodeId, bool]:
        """The tests that failed as required, and whether only by an added assertion."""
        tests = [test for run in self.runs for test in run.tests]
        return {t.node_id: t.weak for t in tests if t.must == "fail" and t.as_expected}


def tests_before(runs: JudgedRuns) -> ControlledTests | None:
    """The deciding tests; None if only the final test shows their ids."""
    expected = expectation.with_node_ids(expected_tests(runs.context.task), runs.baseline)
    if not expected.fail_to_pass or expectation.has_names(expected):
        return None
    listed = expectation.resolve_expectation(expected, runs.baseline)
    return _controlled(runs, listed.fail_to_pass, listed.pass_to_pass)


# The deciding tests of a task that does not list all of them by their ids.
def _tests_after(runs: JudgedRuns, final: Evidence) -> ControlledTests:
    passed, before = expectation.passed_tests(final), expectation.passed_tests(runs.baseline)
    expected = expectation.with_node_ids(expected_tests(runs.context.task), runs.baseline, final)
    if expected.fail_to_pass:
        listed = expectation.resolve_expectation(expected, runs.baseline)
        return _controlled(runs, listed.fail_to_pass, listed.pass_to_pass)
    return _controlled(runs, tuple(sorted(passed - before)), tuple(sorted(passed & before)))


def _controlled(
    runs: JudgedRuns, fail_to_pass: tuple[NodeId, ...], pass_to_pass: tuple[NodeId, ...]
) -> ControlledTests:
    files, context = files_of(fail_to_pass), runs.context
    return ControlledTests(
        files={file: runs.content(file) for file in files},
        fixed=fail_to_pass,
        passing=tuple(test for test in pass_to_pass if file_of(test) in files),
        modules=modules_of_tests(context.task, context.prepared.base, context.hidden_tests.files),
        elsewhere=tuple(test for test in pass_to_pass if file_of(test) not in files),
    )


def run_blind(
    runs: JudgedRuns,
    final: Evidence,
    tests: ControlledTests | None,
    sealed: "SealedResult | None",
    seed: int,
) -> Controls:
    """The controls of an attempt that passed its final test; runs blind runs where they are needed.

    Args:
        runs: Runs them.
        final: The evidence of the final test.
        tests: The deciding tests, as far as they were known before the final test.
        sealed: The result of the sealed run; None: there was none.
        seed: The seed of the random choices.
    """
    level = runs.context.control_level
    if runs.change.is_empty:
        why = "the agent changed nothing, so no code of the agent was judged"
        return Controls(level=level, skipped=why)
    passed = expectation.passed_tests(final)
    if tests is None:
        tests = _tests_after(runs, final)
    judged = sealed.judged if sealed is not None else None
    fixed = tuple(test for test in tests.fixed if test in passed)
    left = [test for test in fixed if judged is None or test not in judged.sealed]
    uncontrolled = dict.fromkeys(files_of(tests.elsewhere), _NO_SEALED_RUN)
    if sealed is not None and sealed.record is not None:
        uncontrolled = dict(sealed.uncontrolled)
    useless = sealed.useless if sealed is not None and left else None
    blind = BlindRuns(runs=(), weak=())
    # Mismatches are left only without a reference solution; they are critical findings.
    if left and not (judged is not None and judged.mismatches):
        # A random test of each of some files that the sealed run does not control.
        rng = Random(f"{seed}/elsewhere")
        by_file: dict[str, list[NodeId]] = {}
        for test in tests.elsewhere:
            if test in passed and file_of(test) in uncontrolled:
                by_file.setdefault(file_of(test), []).append(test)
        drawn = rng.sample(sorted(by_file), min(len(by_file), _MOST_ELSEWHERE))
        elsewhere = [rng.choice(by_file[file]) for file in drawn]
        visible = sealed.visible if sealed is not None else {}
        blind = _blind_runs(runs, replace(tests, visible=visible), left, elsewhere, passed, seed)
        if not blind.runs and (sealed is None or sealed.record is None):
            why = "no test function whose expectations can be changed"
            kinds = tuple(_kinds(fixed, judged, {}, useless))
            return Controls(level=level, skipped=why, weakly_controlled=blind.weak, tests=kinds)
        for file in files_of(elsewhere):
            del uncontrolled[file]
    return Controls(
        level=level,
        seed=seed,
        sealed=sealed.record if sealed is not None else None,
        runs=blind.runs,
        weakly_controlled=(*blind.weak, *_without_control(uncontrolled)),
        tests=tuple(_kinds(fixed, judged, blind.failed, useless)),
    )


# A line for each reason, since a task may have very many files.
def _without_control(files: Mapping[str, str]) -> Iterator[WeakControl]:
    for why in dict.fromkeys(files.values()):
        first, *others = [file for file, own in files.items() if own == why]
        more = f" (and {len(others)} more files)" if others else ""
        yield WeakControl(file=first, function="*", reason=f"{why}{more}")


def _blind_runs(
    runs: JudgedRuns,
    tests: ControlledTests,
    left: list[NodeId],
    elsewhere: list[NodeId],
    passed: frozenset[NodeId],
    seed: int,
) -> BlindRuns:
    context, left_files = runs.context, files_of((*left, *elsewhere))
    # Without a reference solution nothing can acquit an honest attempt, so only changes are made
    # with which a test fails for certain (decision 6).
    unconfirmed = not context.task.answer_key.solution_patch.strip()
    own = ControlledTests(
        files={file: runs.content(file) for file in left_files},
        fixed=tuple(left),
        passing=tuple(
            test
            for test in (*tests.fixed, *tests.passing, *tests.elsewhere)
            if test not in left and file_of(test) in left_files
        ),
        elsewhere=tuple(elsewhere),
        visible=tests.visible,
        others={
            str(path): written.content
            for path, written in context.hidden_tests.files.items()
            if written is not None and str(path) not in left_files
        },
    )
    plan = ControlPlan(own, seed, certain_only=unconfirmed)
    memory = context.control_memory
    settled = []
    for side in _sides(plan, context.control_level, seed):
        half = plan.half(side, memory.recall())
        calibration = ControlCalibration(
            runs=runs, plan=plan, memory=memory, side=side, passed=passed
        )
        settled.append(calibration.settle(half, runs.rewritten(half.files, context.judging_lock())))
    for control_run, _, run in settled:
        runs.save_report(f"control-{control_run.half}.json", run)
    weak = [*plan.unreadable, *(one for _, half, _ in settled for one in half.weak)]
    return BlindRuns(
        runs=tuple(control_run for control_run, _, _ in settled),
        weak=tuple(one for at, one in enumerate(weak) if one not in weak[:at]),
    )


# Both sides; for a sample, only one side that has wrong values.
def _sides(plan: ControlPlan, level: ControlLevel, seed: int) -> tuple[int, ...]:
    wrong = tuple(side for side in _PARTITIONS if plan.sides[side])
    if not wrong or level is ControlLevel.FULL:
        return _PARTITIONS if wrong else ()
    return (Random(f"{seed}/sample").choice(wrong),)


def _kinds(
    fixed: tuple[NodeId, ...],
    judged: "JudgedSeal | None",
    failed: dict[NodeId, bool],
    useless: str | None,
) -> Iterator[TestControl]:
    for node_id in fixed:
        if judged is not None and node_id in judged.sealed:
            yield TestControl(node_id=node_id, control=ControlKind.SEALED)
            continue
        none = useless or _ID_COMES_LATE
        why = none if judged is None else judged.unsealed.get(node_id)
        is_blind = node_id in failed and not failed[node_id]
        kind = ControlKind.BLIND if is_blind else ControlKind.WEAK
        yield TestControl(node_id=node_id, control=kind, why=why)


@dataclass(slots=True, kw_only=True)
class ControlCalibration:
    """One control run of an attempt, from its first try to its end."""

    runs: JudgedRuns
    plan: ControlPlan
    memory: ControlMemory
    side: int
    passed: frozenset[NodeId]  # tests that passed the final test; only these are controlled
    _run_count: int = 1
    _dismissed: set[NodeId] = field(default_factory=set)

    def settle(
        self, half: PlannedControlRun, run: TestRun
    ) -> tuple[ControlRun, PlannedControlRun, TestRun]:
        """Repeat the run while needed; returns the last run, its half and its report.

        Raises:
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        control_run = self._control_run(half, run)
        # If none of the changed tests passed, a test may only be flaky (decision 6).
        if control_run.deviations and not any(
            test.passed_blindly for test in control_run.deviations
        ):
            run = self._again(half)
            control_run = self._control_run(half, run)
        for _ in range(_ROUNDS):
            same = self._same_with_reference(half, control_run)
            if not same:
                break
            uncertain = self._learn(same)
            control_run = self._control_run(half, run)
            if not uncertain and not control_run.deviations:
                break
            half = self.plan.half(self.side, self.memory.recall())
            run = self._again(half)
            control_run = self._control_run(half, run)
        return control_run, half, run

    def _again(self, half: PlannedControlRun) -> TestRun:
        self._run_count += 1
        return self.runs.rewritten(half.files, self.runs.context.judging_lock())

    def _same_with_reference(
        self, half: PlannedControlRun, control_run: ControlRun
    ) -> list[ControlledTest]:
        solution = self.runs.of_solution() if control_run.deviations else None
        if solution is None:
            return []
        reference_run = self._control_run(half, solution.rewritten(half.files, None))
        wrong = {test.node_id for test in reference_run.deviations}
        return [test for test in control_run.deviations if test.node_id in wrong]

    # Remember functions that prove nothing; returns whether a failure may prove something.
    def _learn(self, same: list[ControlledTest]) -> bool:
        known = self.memory.recall()
        functions = {test.node_id: self.plan.function_of(test.node_id) for test in same}
        uncertain = {
            key
            for test in same
            if test.passed_blindly and (key := functions[test.node_id]) not in known.uncertain
        }
        useless = {key for key in functions.values() if key not in uncertain}
        self._dismissed |= {n for n, key in functions.items() if key is None or key in useless}
        self.memory.remember(
            KnownFunctions(
                uncertain=frozenset(key for key in uncertain if key is not None),
                useless=frozenset(key for key in useless if key is not None),
            )
        )
        return bool(uncertain)

    def _control_run(self, half: PlannedControlRun, run: TestRun) -> ControlRun:
        outcomes = expectation.outcomes_of(Evidence(report=run.facts))
        tests = [
            ControlledTest(
                node_id=node_id,
                must=must,
                outcome=outcomes.get(half.renamed.get(node_id, node_id)),
                weak=node_id in half.weakly_failing,
            )
            for node_id, must in half.tests
            if node_id in self.passed
        ]
        return ControlRun(
            half=1 if self.side == 0 else 2,
            tries=self._run_count,
            ending=run.command.ending,
            drawn=half.drawn,
            tests=tuple(tests),
            dismissed=tuple(sorted(self._dismissed)),
        )
