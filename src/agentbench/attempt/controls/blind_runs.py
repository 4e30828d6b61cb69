"""Blind runs: tests that expect wrong values, which must fail.

A test that deviates is run once more, as it may be flaky. If it deviates again, or passed where it
had to fail, the same files are run with the reference solution. Deviations that the reference
solution shares are ignored and remembered, so that later attempts are controlled in another way.
"""

from msgspec import Struct, field

from agentbench.attempt.controls.runner import ChangedFiles, ControlRunner
from agentbench.integrity.control_plan import (
    ControlMemory,
    ControlPlan,
    KnownFunctions,
    PlannedControlRun,
)
from agentbench.integrity.records import ControlledTest, ControlRun, WeakControl
from agentbench.scoring import expectation
from agentbench.scoring.evidence import Evidence, NodeId
from agentbench.test_runs.runner import TestRun

_ROUNDS = 4


class ControlCalibration(Struct, kw_only=True):
    """One control run of an attempt, from its first try to its end."""

    runs: ControlRunner
    plan: ControlPlan
    memory: ControlMemory
    change: ChangedFiles
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
        return self.runs.run(half.files, self.change)

    def _same_with_reference(
        self, half: PlannedControlRun, control_run: ControlRun
    ) -> list[ControlledTest]:
        """The deviating tests that also deviate with the reference solution."""
        reference = self.runs.reference_change() if control_run.deviations else None
        if reference is None:
            return []
        reference_run = self._control_run(half, self.runs.run(half.files, reference))
        wrong = {test.node_id for test in reference_run.deviations}
        return [test for test in control_run.deviations if test.node_id in wrong]

    def _learn(self, same: list[ControlledTest]) -> bool:
        """Remember functions that prove nothing; returns whether a failure may prove something."""
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


class BlindRuns(Struct, frozen=True, kw_only=True):
    """The blind runs of an attempt."""

    runs: tuple[ControlRun, ...]
    weak: tuple[WeakControl, ...]

    @property
    def failed(self) -> dict[NodeId, bool]:
        """The tests that failed as required, and whether only by an added assertion."""
        tests = [test for run in self.runs for test in run.tests]
        return {t.node_id: t.weak for t in tests if t.must == "fail" and t.as_expected}
