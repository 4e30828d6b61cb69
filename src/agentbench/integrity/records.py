"""What the integrity checks put on an attempt's record.

Control runs, changed expectations, dropped paths; and the findings that control runs make. Light:
reading a record needs no engine.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agentbench.core.choices import ControlLevel
from agentbench.core.schema import Schema
from agentbench.scoring.evidence import CaseOutcome, Ending, Finding, NodeId, Severity

if TYPE_CHECKING:
    pass


class DroppedPath(Schema):
    """A path of the change that was not judged, and why."""

    path: str
    why: str


class ValueKind(StrEnum):
    """What sort of thing a test expects."""

    NUMBER = "number"
    TEXT = "text"
    BYTES = "bytes"
    TRUTH = "truth"
    NOTHING = "nothing"
    CONTAINER = "container"
    FORMATTED = "formatted"
    ERROR = "error"
    PATTERN = "pattern"
    BOUND = "bound"
    DOCTEST = "doctest"


class ChangedValue(Schema):
    """One expected value that was changed."""

    function: str
    """As in a node id, without the file: `TestX::test_y`."""
    line: int
    kind: ValueKind
    original: str
    replacement: str
    doubt: int = 0
    """0: it surely makes the test fail. From 3 on it may not: try it with code that is right."""
    row: int | None = None
    """Which set of parameters it belongs to, counted from 0, if it belongs to one."""


class UncontrolledFunction(Schema):
    """A test function in which no expected value could be changed."""

    function: str
    reason: str
    fails: bool
    """Whether an assertion at its end makes it fail; `False` where none could be added."""


class ExpectedValueRecord(Schema):
    """An expected value that can be changed."""

    line: int
    kind: ValueKind
    original: str
    doubt: int
    row: int | None = None


class ControlledFunction(Schema):
    """What can be changed in one test function."""

    function: str
    values: tuple[ExpectedValueRecord, ...]
    reason: str | None = None
    """Why nothing can be, where `values` is empty."""


class RewrittenTestFile(Schema):
    """A file of tests, disguised, in which some functions expect something else."""

    path: str
    source: str
    changed: tuple[ChangedValue, ...] = ()
    weakly_controlled: tuple[UncontrolledFunction, ...] = ()
    renamed: dict[str, str] = Field(default_factory=dict)
    """Node ids of listed tests that have another one in this file, with the new one."""
    visible_ids: tuple[str, ...] = ()
    """Functions of listed tests whose ids are still those that pytest makes of the values."""


_SHOWN = 3
_FAILS = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


class ControlRule(StrEnum):
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


class ChangedExpectation(ChangedValue):
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
    drawn: tuple[ChangedExpectation, ...] = ()
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
        what = f"{count} tests passed that expect something wrong: {_test_names(blind)}"
        yield _critical(ControlRule.PASSED, run, what)
    if others:
        what = f"{len(others)} tests did not end as they had to: {_test_names(others)}"
        if run.ending is not Ending.EXITED:
            what = f"{what}; the run ended in {run.ending.value}"
        yield _critical(ControlRule.DIFFERED, run, what)


def _critical(rule: ControlRule, run: ControlRun, what: str) -> Finding:
    where = f"blind run {run.half}"
    return Finding(rule=rule.value, severity=Severity.CRITICAL, where=where, what=what)


def _test_names(tests: Sequence[ControlledTest]) -> str:
    shown = ", ".join(f"{test.node_id} ({_outcome_text(test)})" for test in tests[:_SHOWN])
    more = len(tests) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _outcome_text(test: ControlledTest) -> str:
    return test.outcome.value if test.outcome is not None else "not run"
