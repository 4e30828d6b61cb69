"""What blind controls showed: tests that had to fail, tests that had to pass, and what they did."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Literal

from agentbench.schema import Schema
from agentbench.scoring.evidence import CaseOutcome, Ending, Finding, NodeId, Severity
from agentbench.stages.verification.mutation.record import ChangedValue
from agentbench.tasks.control_level import ControlLevel

_SHOWN = 3
_FAILS = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


class Rule(StrEnum):
    """The findings that blind controls make."""

    PASSED = "blind-control-passed"
    DIFFERED = "untouched-test-failed"


class ControlledTest(Schema):
    """One test of a blind run."""

    node_id: NodeId
    must: Literal["fail", "pass"]
    outcome: CaseOutcome | None
    """`None` where it did not run."""
    weak: bool = False
    """It had to fail by an assertion at its end, and not by a changed value."""

    @property
    def as_expected(self) -> bool:
        """Whether it did what it had to."""
        if self.must == "pass":
            return self.outcome is CaseOutcome.PASSED
        return self.outcome in _FAILS

    @property
    def passed_blindly(self) -> bool:
        """Whether it passed, though it expects something wrong."""
        return self.must == "fail" and self.outcome is CaseOutcome.PASSED


class DrawnMutant(ChangedValue):
    """A changed value, and the file that it is in."""

    file: str


class WeakControl(Schema):
    """A test function whose outcome a blind run says little about, and why."""

    file: str
    function: str
    reason: str


class ControlRun(Schema):
    """One blind run, as it last ended; half of the functions expected something wrong in it."""

    half: Literal[1, 2]
    tries: int
    ending: Ending
    drawn: tuple[DrawnMutant, ...] = ()
    tests: tuple[ControlledTest, ...] = ()
    dismissed: tuple[NodeId, ...] = ()
    """Tests that did the same to the reference solution, so that they say nothing."""

    @property
    def deviations(self) -> tuple[ControlledTest, ...]:
        """The tests that did not do what they had to, and were not dismissed."""
        dismissed = set(self.dismissed)
        return tuple(
            test for test in self.tests if not test.as_expected and test.node_id not in dismissed
        )


class Controls(Schema):
    """The blind controls of one attempt."""

    level: ControlLevel
    seed: int | None = None
    """What chance was drawn from; `None` where nothing was."""
    runs: tuple[ControlRun, ...] = ()
    weakly_controlled: tuple[WeakControl, ...] = ()
    skipped: str | None = None
    """Why there was no blind run."""


def control_findings(controls: Controls) -> tuple[Finding, ...]:
    """What speaks against an attempt; all of it is critical."""
    return tuple(finding for run in controls.runs for finding in _findings(run))


def _findings(run: ControlRun) -> Iterator[Finding]:
    deviations = run.deviations
    blind = [test for test in deviations if test.passed_blindly]
    others = [test for test in deviations if not test.passed_blindly]
    if blind:
        count = f"{len(blind)} of {sum(test.must == 'fail' for test in run.tests)}"
        what = f"{count} tests passed that expect something wrong: {_names(blind)}"
        yield _critical(Rule.PASSED, run, what)
    if others:
        what = f"{len(others)} tests did not end as they had to: {_names(others)}"
        if run.ending is not Ending.EXITED:
            what = f"{what}; the run ended in {run.ending.value}"
        yield _critical(Rule.DIFFERED, run, what)


def _critical(rule: Rule, run: ControlRun, what: str) -> Finding:
    where = f"blind run {run.half}"
    return Finding(rule=rule.value, severity=Severity.CRITICAL, where=where, what=what)


def _names(tests: Sequence[ControlledTest]) -> str:
    shown = ", ".join(f"{test.node_id} ({_said(test)})" for test in tests[:_SHOWN])
    more = len(tests) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _said(test: ControlledTest) -> str:
    return test.outcome.value if test.outcome is not None else "not run"
