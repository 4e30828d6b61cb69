"""The control runs of a judged run: they show that its tests can fail.

A test that deviates is run once more, as it may be flaky. If it deviates again, or passed where it
had to fail, the same files are run with the reference solution. Deviations that the reference
solution shares are ignored and remembered, so that later attempts are controlled in another way.
"""

import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from random import Random
from threading import Event

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.stages import judged_tests
from agentbench.core.choices import ControlLevel
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, RunCancelled
from agentbench.integrity.control_plan import (
    ControlledTests,
    ControlMemory,
    ControlPlan,
    KnownFunctions,
    PlannedControlRun,
    file_of,
    files_of,
)
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import ControlledTest, ControlRun, Controls
from agentbench.pytest_results.execution import PytestRun, execute_tests
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring import expectation
from agentbench.scoring.evidence import Evidence, NodeId
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit

Files = Mapping[PurePosixPath, FileContent | None]

_POLL = 0.1  # seconds
_TIMEOUT_FACTOR = 2  # a control run may take so many times as long as the final test
_ROUNDS = 4
_SEED_BITS = 52  # every reader of JSON keeps so many exactly
_PARTITIONS = (0, 1)
_OUTPUT_CHARACTERS = 4_096  # of a control run, which prints much the same as the final test
_FirstAttempt = tuple[PlannedControlRun, PytestRun] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFiles:
    """A change that control runs test."""

    files: Files = field(default_factory=dict)
    emptied: tuple[PurePosixPath, ...] = ()

    @classmethod
    def of(cls, change: JudgedChange | None) -> "ChangedFiles":
        """The agent's change; empty without one."""
        return cls() if change is None else cls(files=change.files, emptied=change.emptied)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRunner:
    """Runs the control runs of one attempt, until they are cancelled."""

    context: PreparedContext
    baseline: Evidence
    cancel: Event
    _preopened: list[judged_tests.PreopenedSandbox] = field(default_factory=list)

    def preopen(self, number: int) -> None:
        """Start to create so many sandboxes, as far as the run allows so many idle ones."""
        for _ in range(number):
            if not self.context.idle_slots.acquire(blocking=False):
                return
            preopened = judged_tests.preopen_sandbox(self.context)
            if preopened is None:
                self.context.idle_slots.release()
                return
            self._preopened.append(preopened)

    def close(self) -> None:
        """Remove the preopened sandboxes that no run has taken."""
        while (preopened := self._take_preopened()) is not None:
            preopened.close()

    def run(self, half: PlannedControlRun, change: ChangedFiles) -> PytestRun:
        """Run the tests of a half on a change, once there is a slot.

        Raises:
            SandboxError: the sandbox could not be created or is lost.
            RunCancelled: the run or the control runs were cancelled.
        """
        context = self.context
        unchanged = judged_tests.unchanged_tests(context, self.baseline)
        written = {**unchanged, **change.files, **context.hidden_tests.files}
        files = {**written, **_rewritten_files(half, written)}

        def fill(sandbox: Sandbox) -> None:
            """Write the run's files into a new sandbox."""
            judged_tests.write_files(sandbox, files, emptied=change.emptied)

        # With more time than the judged run; the code under test sees no other difference.
        request = judged_tests.judged_request(context)
        request = replace(request, timeout=_TIMEOUT_FACTOR * request.timeout)
        with (
            self._slot(),
            judged_tests.filled_sandbox(context, self._take_preopened(), fill) as sandbox,
        ):
            return execute_tests(sandbox, request, end_sandbox=True, cancel=self.cancel)

    def reference_change(self) -> ChangedFiles | None:
        """The reference solution, if the task has one that applies."""
        task = self.context.task
        if not task.answer_key.solution_patch.strip():
            return None
        try:
            mirror = self.context.mirrors.of(task.source)
            return ChangedFiles(files=apply_patch_to_commit(task.answer_key.solution_patch, mirror))
        except (PatchDoesNotApplyError, GitCloneError):
            return None

    def content(self, file: str) -> bytes | None:
        """A file of tests as the final test has it; `None` if there is none."""
        path, hidden = PurePosixPath(file), self.context.hidden_tests.files
        if path in hidden:
            written = hidden[path]
            return None if written is None else written.content
        return self.context.prepared.content(path)

    def _take_preopened(self) -> judged_tests.PreopenedSandbox | None:
        try:
            preopened = self._preopened.pop()
        except IndexError:
            return None
        self.context.idle_slots.release()
        return preopened

    @contextmanager
    def _slot(self) -> Iterator[None]:
        slots = self.context.control_slots
        while not slots.acquire(timeout=_POLL):
            self._raise_if_cancelled()
        try:
            self._raise_if_cancelled()
            yield
        finally:
            slots.release()

    def _raise_if_cancelled(self) -> None:
        if self.cancel.is_set() or self.context.cancel.is_set():
            raise RunCancelled


def _rewritten_files(half: PlannedControlRun, written: Files) -> Files:
    """The files of a half; each is executable if the file that it replaces is."""
    found = {}
    for file, content in half.files.items():
        path = PurePosixPath(file)
        replaced = written.get(path)
        executable = replaced is not None and replaced.executable
        found[path] = FileContent(content=content, executable=executable)
    return found


@dataclass(slots=True, kw_only=True)
class ControlCalibration:
    """One control run of an attempt, from its first try to its end."""

    runs: ControlRunner
    plan: ControlPlan
    memory: ControlMemory
    change: ChangedFiles
    side: int
    passed: frozenset[NodeId]  # the tests that passed the final test: no other one is controlled
    _run_count: int = 1
    _dismissed: set[NodeId] = field(default_factory=set)

    def settle(
        self, half: PlannedControlRun, run: PytestRun
    ) -> tuple[ControlRun, PlannedControlRun, PytestRun]:
        """The last run, its half, and its report.

        Raises:
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        control_run = self._control_run(half, run)
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

    def _again(self, half: PlannedControlRun) -> PytestRun:
        self._run_count += 1
        return self.runs.run(half, self.change)

    def _same_with_reference(
        self, half: PlannedControlRun, control_run: ControlRun
    ) -> list[ControlledTest]:
        """The deviating tests that also deviate with the reference solution."""
        reference = self.runs.reference_change() if control_run.deviations else None
        if reference is None:
            return []
        reference_run = self._control_run(half, self.runs.run(half, reference))
        wrong = {test.node_id for test in reference_run.deviations}
        return [test for test in control_run.deviations if test.node_id in wrong]

    def _learn(self, same: list[ControlledTest]) -> bool:
        """Remember functions that prove nothing; true if a failure may still prove something."""
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

    def _control_run(self, half: PlannedControlRun, run: PytestRun) -> ControlRun:
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


class ControlRuns:
    """Runs in which some tests expect a wrong value, and their results; owns their sandboxes."""

    def __init__(self, context: PreparedContext, baseline: Evidence) -> None:
        self._context = context
        self._baseline = baseline
        self._cancel = Event()
        self._runs = ControlRunner(context=context, baseline=baseline, cancel=self._cancel)
        self._pool = ThreadPoolExecutor(max_workers=len(_PARTITIONS), thread_name_prefix="blind")
        self.seed = secrets.randbits(_SEED_BITS)
        self._plan: Future[ControlPlan] | None = None
        self._halves: list[Future[PlannedControlRun | None]] = []
        self._first_runs: list[Future[_FirstAttempt]] = []

    def prepare(self) -> None:
        """Plan the runs and open their sandboxes, if the deciding tests are known already."""
        self._plan_listed()
        if self._plan is not None:
            is_sample = self._context.control_level is ControlLevel.SAMPLE
            self._runs.preopen(1 if is_sample else len(_PARTITIONS))

    def start(self, change: ChangedFiles) -> None:
        """Start the planned runs beside the final test."""
        if self._plan is None:
            self._plan_listed()
        self._start_planned(change)

    def _plan_listed(self, *final: Evidence) -> None:
        expected = judged_tests.expected_tests(self._context.task)
        expected = expectation.with_node_ids(expected, self._baseline, *final)
        if self._context.control_level is ControlLevel.OFF or not expected.fail_to_pass:
            return
        if final or not expectation.has_names(expected):  # else the final test has to say
            listed = expectation.resolve_expectation(expected, self._baseline)
            self._begin_plan(listed.fail_to_pass, listed.pass_to_pass)

    def finish(self, final: Evidence, change: ChangedFiles) -> Controls:
        """The results of the control runs of an attempt that passed its final test.

        Raises:
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        if self._context.control_level is ControlLevel.OFF:
            return self.skip("turned off")
        passed = expectation.passed_tests(final)
        if self._plan is None:
            self._plan_listed(final)
            if self._plan is None:
                before = expectation.passed_tests(self._baseline)
                self._begin_plan(tuple(sorted(passed - before)), tuple(sorted(passed & before)))
            self._start_planned(change)
        assert self._plan is not None
        plan, memory = self._plan.result(), self._context.control_memory
        settled = []
        for side, future in zip(_PARTITIONS, self._first_runs, strict=True):
            first = future.result()
            if first is not None:
                calibration = ControlCalibration(
                    runs=self._runs,
                    plan=plan,
                    memory=memory,
                    change=change,
                    side=side,
                    passed=passed,
                )
                settled.append(calibration.settle(*first))
        if not settled:
            none = self.skip("no test function whose expectations can be changed")
            return none.model_copy(update={"weakly_controlled": plan.unreadable})
        for control_run, _, run in settled:
            output = run.result.text_output[-_OUTPUT_CHARACTERS:]
            report = run.result.model_copy(update={"text_output": output, "json_report": {}})
            name = f"control-{control_run.half}.json"
            self._context.save(name, report.model_dump_json(indent=1).encode())
        weak = [*plan.unreadable, *(one for _, half, _ in settled for one in half.weak)]
        return Controls(
            level=self._context.control_level,
            seed=self.seed,
            runs=tuple(control_run for control_run, _, _ in settled),
            weakly_controlled=tuple(one for at, one in enumerate(weak) if one not in weak[:at]),
        )

    def skip(self, why: str) -> Controls:
        """Cancel the runs: there is nothing to control."""
        self._cancel.set()
        return Controls(level=self._context.control_level, skipped=why)

    def close(self) -> None:
        """Cancel the runs, wait for their end, and remove the sandboxes."""
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)
        self._runs.close()

    def _begin_plan(
        self, fail_to_pass: tuple[NodeId, ...], pass_to_pass: tuple[NodeId, ...]
    ) -> None:
        plan = self._plan = self._pool.submit(self._planned, fail_to_pass, pass_to_pass)
        self._halves = [self._pool.submit(self._half, plan, side) for side in _PARTITIONS]

    def _start_planned(self, change: ChangedFiles) -> None:
        self._first_runs = [
            self._pool.submit(self._first_run, half, change) for half in self._halves
        ]

    def _planned(
        self, fail_to_pass: tuple[NodeId, ...], pass_to_pass: tuple[NodeId, ...]
    ) -> ControlPlan:
        files = files_of(fail_to_pass)
        tests = ControlledTests(
            files={file: self._runs.content(file) for file in files},
            fixed=fail_to_pass,
            passing=tuple(test for test in pass_to_pass if file_of(test) in files),
        )
        unconfirmed = not self._context.task.answer_key.solution_patch.strip()
        return ControlPlan(tests, self.seed, certain_only=unconfirmed)

    def _half(self, planned: Future[ControlPlan], side: int) -> PlannedControlRun | None:
        plan = planned.result()
        if side not in self._sides(plan):
            return None
        return plan.half(side, self._context.control_memory.recall())

    def _first_run(
        self, planned: Future[PlannedControlRun | None], change: ChangedFiles
    ) -> _FirstAttempt:
        half = planned.result()
        return None if half is None else (half, self._runs.run(half, change))

    def _sides(self, plan: ControlPlan) -> tuple[int, ...]:
        """Both sides; of a sample, one in which something is wrong."""
        wrong = tuple(side for side in _PARTITIONS if plan.sides[side])
        if not wrong or self._context.control_level is ControlLevel.FULL:
            return _PARTITIONS if wrong else ()
        return (Random(f"{self.seed}/sample").choice(wrong),)
