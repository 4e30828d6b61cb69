"""Whether a blind run that did not go as it had to speaks against the attempt.

A test that goes wrong is run once more, as it may be flaky. If it goes wrong again, or passed
where it had to fail, the reference solution is put to the same files: what it does too is held
against nobody, and is remembered, so that later attempts are controlled in another way.
"""

from agentbench.pytest_results.tools import PytestRun
from agentbench.scoring.evidence import Evidence, NodeId
from agentbench.scoring.expectation import outcomes_of
from agentbench.stages.blind_runs import BlindRuns
from agentbench.stages.verification.blind_plan import BlindHalf, BlindPlan
from agentbench.stages.verification.control_memory import ControlMemory
from agentbench.stages.verification.controls import ControlledTest, ControlRun
from agentbench.stages.verification.known import Known

_ROUNDS = 4


class Settling:
    """One blind run of an attempt, from its first try to its end."""

    def __init__(
        self,
        runs: BlindRuns,
        plan: BlindPlan,
        memory: ControlMemory,
        *,
        side: int,
        passed: frozenset[NodeId],
    ) -> None:
        """`passed` are the tests that passed the final test: no other one is controlled."""
        self._runs = runs
        self._plan = plan
        self._memory = memory
        self._side = side
        self._passed = passed
        self._tries = 1
        self._dismissed: set[NodeId] = set()

    def settle(self, half: BlindHalf, run: PytestRun) -> tuple[ControlRun, BlindHalf, PytestRun]:
        """The run as it last ended, what it was made of, and its report.

        Raises:
            SandboxError: a sandbox could not be made or is lost.
            KeyboardInterrupt: the run was cancelled.
        """
        shown = self._shown(half, run)
        if shown.deviations and not any(test.passed_blindly for test in shown.deviations):
            run = self._again(half)
            shown = self._shown(half, run)
        for _ in range(_ROUNDS):
            same = self._same_with_reference(half, shown)
            if not same:
                break
            uncertain = self._learn(same)
            shown = self._shown(half, run)
            if not uncertain and not shown.deviations:
                break
            half = self._plan.half(self._side, self._memory.recall())
            run = self._again(half)
            shown = self._shown(half, run)
        return shown, half, run

    def _again(self, half: BlindHalf) -> PytestRun:
        self._tries += 1
        return self._runs.run(half, self._runs.agents_change())

    def _same_with_reference(self, half: BlindHalf, shown: ControlRun) -> list[ControlledTest]:
        """The tests that go wrong with the reference solution, too."""
        reference = self._runs.reference_change() if shown.deviations else None
        if reference is None:
            return []
        seen = self._shown(half, self._runs.run(half, reference))
        wrong = {test.node_id for test in seen.deviations}
        return [test for test in shown.deviations if test.node_id in wrong]

    def _learn(self, same: list[ControlledTest]) -> bool:
        """Remember what says nothing; true where a failing end may still say something."""
        known = self._memory.recall()
        functions = {test.node_id: self._plan.function_of(test.node_id) for test in same}
        uncertain = {
            key
            for test in same
            if test.passed_blindly and (key := functions[test.node_id]) not in known.uncertain
        }
        useless = {key for key in functions.values() if key not in uncertain}
        self._dismissed |= {n for n, key in functions.items() if key is None or key in useless}
        self._memory.remember(
            Known(
                uncertain=frozenset(key for key in uncertain if key is not None),
                useless=frozenset(key for key in useless if key is not None),
            )
        )
        return bool(uncertain)

    def _shown(self, half: BlindHalf, run: PytestRun) -> ControlRun:
        outcomes = outcomes_of(Evidence(report=run.facts))
        tests = [
            ControlledTest(
                node_id=node_id,
                must=must,
                outcome=outcomes.get(half.renamed.get(node_id, node_id)),
                weak=node_id in half.weakly_failing,
            )
            for node_id, must in half.tests
            if node_id in self._passed
        ]
        return ControlRun(
            half=1 if self._side == 0 else 2,
            tries=self._tries,
            ending=run.command.ending,
            drawn=half.drawn,
            tests=tuple(tests),
            dismissed=tuple(sorted(self._dismissed)),
        )
