"""Who is blamed for a blind run that went wrong, by scripted outcomes."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from agentbench.attempt.controls.blind_runs import ControlCalibration
from agentbench.integrity.control_plan import (
    ControlledTests,
    ControlMemory,
    ControlPlan,
    KnownFunctions,
)
from agentbench.scoring.evidence import (
    CaseOutcome,
    CommandResult,
    Ending,
    NodeId,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.test_runs.model import CaseResult, PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun

IDS = tuple(NodeId(f"t.py::test_{n}") for n in range(2))
SOURCE = "".join(f"def test_{n}():\n    assert f() == {n + 5}\n" for n in range(2))
PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED


@pytest.fixture
def plan() -> ControlPlan:
    return ControlPlan(
        ControlledTests(files={"t.py": SOURCE.encode()}, fixed=IDS, passing=()),
        1,
        certain_only=False,
    )


class Runs:
    """Answers with what is scripted, in turn: each a pair of outcomes (changed, untouched)."""

    def __init__(self, *agent, reference=None) -> None:
        self.agent, self.reference = list(agent), reference
        self.asked: list[str] = []
        self.context = SimpleNamespace(judging_lock=lambda: None)

    def rewritten(self, _files, _lock):
        self.asked.append("agent")
        return self.answer(*self.agent.pop(0))

    def answer(self, wrong, right):
        changed = self.half.must_fail[0]
        return ended({changed: wrong, **dict.fromkeys(self.half.must_pass, right)})

    def of_solution(self):
        return Solution(self) if self.reference else None


class Solution:
    def __init__(self, runs) -> None:
        self.runs = runs

    def rewritten(self, _files, _lock):
        self.runs.asked.append("reference")
        return self.runs.answer(*self.runs.reference)


def ended(outcomes) -> TestRun:
    cases = tuple(
        CaseResult(node_id=node_id, outcome=outcome, duration=0.0)
        for node_id, outcome in outcomes.items()
        if outcome is not None
    )
    command = CommandResult(
        argv=("pytest",), ending=Ending.EXITED, exit_code=1, duration=timedelta(seconds=1)
    )
    result = PytestResult(
        exit_code=1,
        summary=PytestSummary(),
        tests=cases,
        outcome=PytestOutcome.FAILED,
        source=ReportSource.STREAM,
    )
    return TestRun(command=command, result=result, trust=ReportTrust.IN_PROCESS_STREAM)


def settle(plan, runs, first):
    half = runs.half = plan.half(0, KnownFunctions())
    memory = ControlMemory()
    settling = ControlCalibration(
        runs=runs, plan=plan, memory=memory, side=0, passed=frozenset(IDS)
    )
    wrong, right = first
    run = ended({half.must_fail[0]: wrong, **dict.fromkeys(half.must_pass, right)})
    shown, _, _ = settling.settle(half, run)
    return shown, memory


def test_a_run_as_it_had_to_be_costs_nothing_more(plan):
    runs = Runs()
    shown, _ = settle(plan, runs, (FAILED, PASSED))
    assert (shown.deviations, shown.tries, runs.asked) == ((), 1, [])


def test_a_flaky_test_is_run_once_more(plan):
    runs = Runs((FAILED, PASSED), reference=(FAILED, PASSED))
    shown, _ = settle(plan, runs, (FAILED, FAILED))
    assert (shown.deviations, shown.tries, runs.asked) == ((), 2, ["agent"])


def test_a_test_that_passed_blindly_gets_no_second_chance(plan):
    runs = Runs(reference=(FAILED, PASSED))
    shown, _ = settle(plan, runs, (PASSED, PASSED))
    assert [test.passed_blindly for test in shown.deviations] == [True]
    assert (shown.tries, runs.asked) == (1, ["reference"])


def test_a_guess_in_the_second_try_is_no_better(plan):
    runs = Runs((PASSED, PASSED), reference=(FAILED, PASSED))
    shown, _ = settle(plan, runs, (FAILED, FAILED))
    assert [test.passed_blindly for test in shown.deviations] == [True]


@pytest.mark.parametrize("outcome", [FAILED, None, CaseOutcome.SKIPPED])
def test_an_untouched_test_that_fails_twice_stands(plan, outcome):
    runs = Runs((FAILED, outcome), reference=(FAILED, PASSED))
    shown, _ = settle(plan, runs, (FAILED, outcome))
    assert len(shown.deviations) == 1
    assert runs.asked == ["agent", "reference"]


def test_without_a_reference_solution_it_stands_too(plan):
    shown, memory = settle(plan, Runs(), (PASSED, PASSED))
    assert len(shown.deviations) == 1
    assert memory.recall() == KnownFunctions()


def test_a_change_that_the_reference_passes_too_is_made_a_failing_end(plan):
    runs = Runs((FAILED, PASSED), reference=(PASSED, PASSED))
    shown, memory = settle(plan, runs, (PASSED, PASSED))
    assert (shown.deviations, shown.tries) == ((), 2)
    assert len(memory.recall().uncertain) == 1
    assert [test.weak for test in shown.tests if test.must == "fail"] == [True]


def test_a_failing_end_that_is_not_reached_says_nothing(plan):
    class Unreached(Runs):
        def rewritten(self, _files, _lock):
            return self.answer()

        def answer(self, *_outcomes):
            outcomes = dict.fromkeys((*self.half.must_fail, *self.half.must_pass), PASSED)
            return ended(outcomes)

    shown, memory = settle(plan, Unreached(reference=(PASSED, PASSED)), (PASSED, PASSED))
    assert shown.deviations == ()
    assert len(memory.recall().useless) == 1


def test_a_test_that_the_reference_fails_too_says_nothing(plan):
    runs = Runs((FAILED, FAILED), reference=(FAILED, FAILED))
    shown, memory = settle(plan, runs, (FAILED, FAILED))
    assert shown.deviations == ()
    assert len(shown.dismissed) == 1
    assert len(memory.recall().useless) == 1


def test_what_the_reference_does_not_do_stands_beside_what_it_does(plan):
    runs = Runs((PASSED, FAILED), (PASSED, None), reference=(FAILED, FAILED))
    shown, memory = settle(plan, runs, (PASSED, FAILED))
    assert [test.passed_blindly for test in shown.deviations] == [True]
    assert len(memory.recall().useless) == 1
