"""The control runs of a judged run: they show that its tests distinguish right from wrong.

The sealed run comes before the final test. Blind runs of the tests that the sealed run does not
control come after the final test. No two sandboxes with the agent's code and hidden tests of one
task run at a time, except final tests of code that has given all the right values in its sealed
run.
"""

import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random
from threading import Event
from typing import TYPE_CHECKING

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.preparation_cache import judging_key
from agentbench.attempt.stages import judged_tests
from agentbench.attempt.stages.blind_runs import BlindRuns, ControlCalibration
from agentbench.attempt.stages.control_reports import save_control_report
from agentbench.attempt.stages.control_runner import ChangedFiles, ControlRunner
from agentbench.core.choices import ControlLevel
from agentbench.integrity.control_plan import (
    ControlledTests,
    ControlPlan,
    file_of,
    files_of,
)
from agentbench.integrity.records import (
    ControlKind,
    Controls,
    TestControl,
)
from agentbench.pytest_results.execution import PytestRun
from agentbench.scoring import expectation
from agentbench.scoring.evidence import Evidence, NodeId

if TYPE_CHECKING:  # the engine that seals tests is imported when it is needed
    from agentbench.attempt.stages.sealed_runs import SealedRuns
    from agentbench.integrity.sealing.plan import JudgedSeal

_SEED_BITS = 52  # every JSON reader reads numbers of this size exactly
_PARTITIONS = (0, 1)
_DIFFERS = "no final test, since the code gave wrong values in the sealed run"
_ID_COMES_LATE = "its id is known only after the final test"


class ControlRuns:
    """The sealed run before the final test and the blind ones after it; owns their sandboxes."""

    def __init__(self, context: PreparedContext, baseline: Evidence) -> None:
        self._context = context
        self._baseline = baseline
        self._cancel = Event()
        self._runs = ControlRunner(context=context, baseline=baseline, cancel=self._cancel)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="controls")
        self.seed = secrets.randbits(_SEED_BITS)
        self._tests: ControlledTests | None = None
        self._sealed: Future[SealedRuns] | None = None
        self._turn = ExitStack()  # the locks of this attempt's turn to be judged

    def prepare(self) -> None:
        """Plan the sealed run and open its sandbox, if the deciding tests are known already."""
        if self._plan_sealed():
            self._runs.preopen(1)

    def start_tests(self) -> None:
        """Start the tests of the sealed run, which wait for their files, if it is planned."""
        sealed = self._sealed
        is_planned = sealed is not None and sealed.done() and sealed.exception() is None
        if sealed is not None and is_planned and sealed.result().useless is None:
            self._runs.start_tests()

    def run_sealed(self, change: ChangedFiles) -> PytestRun | None:
        """Run the sealed run; its sandbox is dead afterwards.

        The result is the report of an attempt that gave wrong values, and must not see the right
        ones; None if the final test has to decide.

        Raises:
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        if not self._plan_sealed() or not (change.files or change.emptied):
            return None
        assert self._sealed is not None
        sealed = self._sealed.result()
        sealed.run(change)
        return sealed.report()

    def finish_differing(self) -> Controls:
        """The controls of an attempt that gave wrong values in the sealed run."""
        assert self._sealed is not None
        return Controls(
            level=self._context.control_level,
            seed=self.seed,
            sealed=self._sealed.result().record(),
            skipped=_DIFFERS,
        )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run no other sandbox with an agent's code and hidden tests of this task in the block.

        Raises:
            RunCancelled: the run was cancelled.
        """
        if self._context.control_level is ControlLevel.OFF:
            yield
            return
        locked, context = self._runs.locked, self._context
        with self._turn:
            turns, key = context.turns, judging_key(context.task)
            self._turn.enter_context(turns.alone(key, self._runs.wait))
            self._turn.enter_context(locked(context.judging_queue(shared=True)))
            self._turn.enter_context(locked(context.judging_lock()))
            yield

    def share(self) -> None:
        """Let other final tests of the task run, too, if this attempt cannot help them to cheat.

        It cannot if its code has given the right values of all tests to fix. Sealed runs of other
        attempts come first, as long as there are too few final tests for all processors.

        Raises:
            RunCancelled: the run was cancelled.
        """
        judged = self._sealed.result().judged if self._sealed is not None else None
        fixed = self._tests.fixed if self._tests is not None else ()
        if judged is None or judged.mismatches or not judged.sealed.issuperset(fixed):
            return
        self._turn.close()
        locked, context = self._runs.locked, self._context
        key = judging_key(context.task)
        self._turn.enter_context(context.turns.sharing(key, self._runs.wait))
        with locked(context.judging_queue()):
            self._turn.enter_context(locked(context.judging_lock(shared=True)))

    def finish(self, final: Evidence, change: ChangedFiles) -> Controls:
        """The results of the control runs of an attempt that passed its final test.

        Raises:
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        if self._context.control_level is ControlLevel.OFF:
            return self.skip("turned off")
        if not change.files and not change.emptied:
            return self.skip("the agent changed nothing, so no code of the agent was judged")
        passed = expectation.passed_tests(final)
        sealed = self._sealed.result() if self._sealed is not None else None
        judged = sealed.judged if sealed is not None else None
        if self._tests is None:
            self._tests = self._tests_after(final, passed)
        fixed = tuple(test for test in self._tests.fixed if test in passed)
        controls = Controls(
            level=self._context.control_level,
            seed=self.seed,
            sealed=sealed.record() if sealed is not None else None,
        )
        if judged is not None and judged.mismatches:  # without a reference solution
            return controls.model_copy(update={"tests": tuple(_kinds(fixed, judged, {}, None))})
        left = [test for test in fixed if judged is None or test not in judged.sealed]
        if not left:
            return controls.model_copy(update={"tests": tuple(_kinds(fixed, judged, {}, None))})
        blind = self._blind_runs(self._tests, left, passed, change)
        if not blind.runs and controls.sealed is None:
            none = self.skip("no test function whose expectations can be changed")
            return none.model_copy(update={"weakly_controlled": blind.weak})
        return controls.model_copy(
            update={
                "runs": blind.runs,
                "weakly_controlled": blind.weak,
                "tests": tuple(
                    _kinds(fixed, judged, blind.failed, sealed.useless if sealed else None)
                ),
            }
        )

    def skip(self, why: str) -> Controls:
        """Cancel the runs, since there is nothing to control."""
        self._cancel.set()
        return Controls(level=self._context.control_level, skipped=why)

    def close(self) -> None:
        """Cancel the runs, wait for their end, and remove the sandboxes."""
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)
        self._runs.close()

    def _plan_sealed(self) -> bool:
        """Whether there is a sealed run; the first call plans it."""
        if self._sealed is not None:
            return True
        if self._context.control_level is ControlLevel.OFF:
            return False
        expected = judged_tests.expected_tests(self._context.task)
        expected = expectation.with_node_ids(expected, self._baseline)
        if not expected.fail_to_pass or expectation.has_names(expected):
            return False  # only the final test shows the ids
        listed = expectation.resolve_expectation(expected, self._baseline)
        tests = self._tests = self._controlled(listed.fail_to_pass, listed.pass_to_pass)
        self._sealed = self._pool.submit(self._prepared_seal, tests)
        return True

    def _prepared_seal(self, tests: ControlledTests) -> "SealedRuns":
        from agentbench.attempt.stages.sealed_runs import SealedRuns

        runs = SealedRuns(runs=self._runs, tests=tests, seed=self.seed)
        runs.prepare()
        return runs

    def _controlled(
        self, fail_to_pass: tuple[NodeId, ...], pass_to_pass: tuple[NodeId, ...]
    ) -> ControlledTests:
        files = files_of(fail_to_pass)
        return ControlledTests(
            files={file: self._runs.content(file) for file in files},
            fixed=fail_to_pass,
            passing=tuple(test for test in pass_to_pass if file_of(test) in files),
        )

    def _tests_after(self, final: Evidence, passed: frozenset[NodeId]) -> ControlledTests:
        """The deciding tests of a task that does not list all of them by their ids."""
        expected = judged_tests.expected_tests(self._context.task)
        expected = expectation.with_node_ids(expected, self._baseline, final)
        if expected.fail_to_pass:
            listed = expectation.resolve_expectation(expected, self._baseline)
            return self._controlled(listed.fail_to_pass, listed.pass_to_pass)
        before = expectation.passed_tests(self._baseline)
        return self._controlled(tuple(sorted(passed - before)), tuple(sorted(passed & before)))

    def _blind_runs(
        self,
        tests: ControlledTests,
        left: list[NodeId],
        passed: frozenset[NodeId],
        change: ChangedFiles,
    ) -> "BlindRuns":
        """Run the blind runs of the tests that are not sealed, one after the other."""
        left_files = files_of(left)
        unconfirmed = not self._context.task.answer_key.solution_patch.strip()
        own = ControlledTests(
            files={file: tests.files[file] for file in left_files},
            fixed=tuple(left),
            passing=tuple(
                test
                for test in (*tests.fixed, *tests.passing)
                if test not in left and file_of(test) in left_files
            ),
        )
        plan = ControlPlan(own, self.seed, certain_only=unconfirmed)
        memory = self._context.control_memory
        settled = []
        for side in self._sides(plan):
            half = plan.half(side, memory.recall())
            calibration = ControlCalibration(
                runs=self._runs, plan=plan, memory=memory, change=change, side=side, passed=passed
            )
            settled.append(calibration.settle(half, self._runs.run(half.files, change)))
        for control_run, _, run in settled:
            save_control_report(self._context, f"control-{control_run.half}.json", run)
        weak = [*plan.unreadable, *(one for _, half, _ in settled for one in half.weak)]
        return BlindRuns(
            runs=tuple(control_run for control_run, _, _ in settled),
            weak=tuple(one for at, one in enumerate(weak) if one not in weak[:at]),
        )

    def _sides(self, plan: ControlPlan) -> tuple[int, ...]:
        """Both sides; for a sample, only one side that has wrong values."""
        wrong = tuple(side for side in _PARTITIONS if plan.sides[side])
        if not wrong or self._context.control_level is ControlLevel.FULL:
            return _PARTITIONS if wrong else ()
        return (Random(f"{self.seed}/sample").choice(wrong),)


def _kinds(
    fixed: tuple[NodeId, ...],
    judged: "JudgedSeal | None",
    failed: dict[NodeId, bool],
    useless: str | None,
) -> Iterator[TestControl]:
    """How each test to fix is controlled."""
    for node_id in fixed:
        if judged is not None and node_id in judged.sealed:
            yield TestControl(node_id=node_id, control=ControlKind.SEALED)
            continue
        none = useless or _ID_COMES_LATE
        why = none if judged is None else judged.unsealed.get(node_id)
        is_blind = node_id in failed and not failed[node_id]
        kind = ControlKind.BLIND if is_blind else ControlKind.WEAK
        yield TestControl(node_id=node_id, control=kind, why=why)
