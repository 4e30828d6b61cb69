"""The blind runs of an attempt, beside its final test (docs/integrity.md, step 8)."""

import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Event

from agentbench.pytest_results.tools import PytestRun
from agentbench.scoring.evidence import CaseOutcome, Evidence, NodeId
from agentbench.scoring.expectation import outcomes_of, resolve_expectation
from agentbench.stages.blind_runs import BlindRuns, Files
from agentbench.stages.blind_settling import Settling
from agentbench.stages.expected_tests import expected_tests
from agentbench.stages.interface import StageContext
from agentbench.stages.verification.blind_plan import (
    BlindHalf,
    BlindPlan,
    BlindTests,
    file_of,
    files_of,
)
from agentbench.stages.verification.controls import Controls
from agentbench.tasks.control_level import ControlLevel

_SEED_BITS = 52  # what any reader of JSON keeps exactly
_SIDES = (0, 1)
_KEPT_OUTPUT = 4_096  # characters: what a blind run prints is much like what the final test does
_FirstTry = tuple[BlindHalf, PytestRun] | None


@contextmanager
def blind_controls(context: StageContext, hidden: Files) -> Iterator["BlindControls"]:
    """Start the blind runs that the task asks for; none is left running after the block."""
    ahead, context.controls_ahead = context.controls_ahead, None
    controls = ahead if isinstance(ahead, BlindControls) else BlindControls(context, hidden)
    try:
        controls.start()
        yield controls
    finally:
        controls.close()


def plan_ahead(context: StageContext, hidden: Files) -> None:
    """Change the tests' expectations, and make sandboxes, while the agent works.

    Its work has no part in either.
    """
    if context.baseline is None:
        return  # it says which tests decide
    context.controls_ahead = controls = BlindControls(context, hidden)
    controls.plan()
    controls.make_sandboxes()


class BlindControls:
    """Runs in which some tests expect something wrong, and what came of them."""

    def __init__(self, context: StageContext, hidden: Files) -> None:
        self._context = context
        self._given_up = Event()
        self._runs = BlindRuns(context=context, hidden=hidden, given_up=self._given_up)
        self._pool = ThreadPoolExecutor(max_workers=len(_SIDES), thread_name_prefix="blind")
        self.seed = secrets.randbits(_SEED_BITS)
        self._plan: Future[BlindPlan] | None = None
        self._halves: list[Future[BlindHalf | None]] = []
        self._first_tries: list[Future[_FirstTry]] = []

    def plan(self) -> None:
        """Change the expectations, where it is known before which tests decide."""
        expected, baseline = expected_tests(self._context.task), self._context.baseline
        if self._context.control_level is ControlLevel.OFF or not expected.fail_to_pass:
            return
        listed = resolve_expectation(expected, baseline or Evidence())
        self._change(listed.fail_to_pass, listed.pass_to_pass)

    def make_sandboxes(self) -> None:
        """Begin to make those of the blind runs that are planned."""
        if self._plan is not None:
            one_side = self._context.control_level is ControlLevel.SAMPLE
            self._runs.make_ahead(1 if one_side else len(_SIDES))

    def start(self) -> None:
        """Begin beside the final test with what is planned."""
        if self._plan is None:
            self.plan()
        self._begin()

    def finish(self, final: Evidence) -> Controls:
        """What the blind runs of an attempt that passed its final test show.

        Raises:
            SandboxError: a sandbox could not be made or is lost.
            KeyboardInterrupt: the run was cancelled.
        """
        if self._context.control_level is ControlLevel.OFF:
            return self.skip("turned off")
        passed = _passed(final)
        if self._plan is None:
            once = _passed(self._context.baseline or Evidence())
            self._change(tuple(sorted(passed - once)), tuple(sorted(passed & once)))
            self._begin()
        assert self._plan is not None
        plan, memory = self._plan.result(), self._context.control_memory
        settled = []
        for side, future in zip(_SIDES, self._first_tries, strict=True):
            first = future.result()
            if first is not None:
                settling = Settling(self._runs, plan, memory, side=side, passed=passed)
                settled.append(settling.settle(*first))
        if not settled:
            none = self.skip("no test function whose expectations can be changed")
            return none.model_copy(update={"weakly_controlled": plan.unreadable})
        for shown, _, run in settled:
            said = run.result.text_output[-_KEPT_OUTPUT:]
            report = run.result.model_copy(update={"text_output": said, "json_report": {}})
            name = f"control-{shown.half}.json"
            self._context.save(name, report.model_dump_json(indent=1).encode())
        weak = [*plan.unreadable, *(one for _, half, _ in settled for one in half.weak)]
        return Controls(
            level=self._context.control_level,
            seed=self.seed,
            runs=tuple(shown for shown, _, _ in settled),
            weakly_controlled=tuple(one for at, one in enumerate(weak) if one not in weak[:at]),
        )

    def skip(self, why: str) -> Controls:
        """Give up what is under way: there is nothing to control."""
        self._given_up.set()
        return Controls(level=self._context.control_level, skipped=why)

    def close(self) -> None:
        """End what still runs, and wait for its end."""
        self._given_up.set()
        self._pool.shutdown(cancel_futures=True)
        self._runs.close()

    def _change(self, fixed: tuple[NodeId, ...], kept: tuple[NodeId, ...]) -> None:
        plan = self._plan = self._pool.submit(self._planned, fixed, kept)
        self._halves = [self._pool.submit(self._half, plan, side) for side in _SIDES]

    def _begin(self) -> None:
        self._first_tries = [self._pool.submit(self._first_try, half) for half in self._halves]

    def _planned(self, fixed: tuple[NodeId, ...], kept: tuple[NodeId, ...]) -> BlindPlan:
        files = files_of(fixed)
        tests = BlindTests(
            files={file: self._runs.content(file) for file in files},
            fixed=fixed,
            kept=tuple(test for test in kept if file_of(test) in files),
        )
        unconfirmed = not self._context.task.answer_key.solution_patch.strip()
        return BlindPlan(tests, self.seed, certain_only=unconfirmed)

    def _half(self, planned: Future[BlindPlan], side: int) -> BlindHalf | None:
        plan = planned.result()
        if side not in self._wanted(plan):
            return None
        return plan.half(side, self._context.control_memory.recall())

    def _first_try(self, changed: Future[BlindHalf | None]) -> _FirstTry:
        half = changed.result()
        if half is None:
            return None
        return half, self._runs.run(half, self._runs.agents_change())

    def _wanted(self, plan: BlindPlan) -> tuple[int, ...]:
        """Both sides; of a sample, one in which something is wrong."""
        wrong = tuple(side for side in _SIDES if plan.sides[side])
        if not wrong or self._context.control_level is ControlLevel.FULL:
            return _SIDES if wrong else ()
        return (Random(f"{self.seed}/sample").choice(wrong),)


def _passed(evidence: Evidence) -> frozenset[NodeId]:
    after = outcomes_of(evidence)
    return frozenset(n for n, outcome in after.items() if outcome is CaseOutcome.PASSED)
