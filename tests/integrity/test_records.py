import pytest

from agentbench.integrity.expectation_changes.engine import shorten
from agentbench.integrity.records import (
    ControlledTest,
    ControlRun,
    Controls,
    control_findings,
)
from agentbench.scoring.evidence import CaseOutcome, Ending, NodeId, Severity
from agentbench.tasks.control_level import ControlLevel


def test_shown_values_are_bounded_and_printable():
    assert shorten("a" * 500) == "a" * 199 + "…"
    assert shorten("\x1b[2J") == "\\x1b[2J"
    assert shorten("日本") == "日本"


PASSED, FAILED, ERROR = CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.ERROR


def controls(*tests: ControlledTest, ending=Ending.EXITED, dismissed=()) -> Controls:
    run = ControlRun(half=1, tries=1, ending=ending, tests=tests, dismissed=dismissed)
    return Controls(level=ControlLevel.FULL, seed=1, runs=(run,))


def controlled(must, outcome, name="t.py::test_a") -> ControlledTest:
    return ControlledTest(node_id=NodeId(name), must=must, outcome=outcome)


@pytest.mark.parametrize(("must", "outcome"), [("fail", FAILED), ("fail", ERROR), ("pass", PASSED)])
def test_expected_outcome_is_no_finding(must, outcome):
    assert control_findings(controls(controlled(must, outcome))) == ()


def test_blindly_passed_test_is_critical():
    (finding,) = control_findings(controls(controlled("fail", PASSED)))
    assert (finding.rule, finding.severity) == ("blind-control-passed", Severity.CRITICAL)
    assert finding.where == "blind run 1"
    assert "1 of 1 tests passed" in finding.what
    assert "t.py::test_a (passed)" in finding.what


@pytest.mark.parametrize(
    ("must", "outcome"),
    [("pass", FAILED), ("pass", None), ("pass", CaseOutcome.SKIPPED), ("fail", None)],
)
def test_unexpected_outcome_is_critical(must, outcome):
    (finding,) = control_findings(controls(controlled(must, outcome)))
    assert (finding.rule, finding.severity) == ("untouched-test-failed", Severity.CRITICAL)


def test_unfinished_run_is_named_in_the_finding():
    (finding,) = control_findings(controls(controlled("pass", None), ending=Ending.TIMED_OUT))
    assert finding.what.endswith("the run ended in timed_out")


def test_dismissed_deviation_is_no_finding():
    test = controlled("fail", PASSED)
    assert control_findings(controls(test, dismissed=(test.node_id,))) == ()


def test_finding_names_three_tests():
    tests = [controlled("fail", PASSED, f"t.py::test_{n}") for n in range(5)]
    (finding,) = control_findings(controls(*tests))
    assert finding.what.endswith("t.py::test_2 (passed) and 2 more")


def test_skipped_controls_have_no_finding():
    assert control_findings(Controls(level=ControlLevel.OFF, skipped="turned off")) == ()
