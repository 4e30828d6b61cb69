"""The records of control runs, changed expectations and dropped paths; they need no engine."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Literal

from pydantic import Field

from agentbench.core.display_text import list_with_more
from agentbench.core.schema import Schema
from agentbench.integrity.finding_rules import ControlRule
from agentbench.scoring.evidence import CaseOutcome, Ending, Finding, NodeId, Severity
from agentbench.tasks.control_level import ControlLevel

_LINE = re.compile(r"line (\d+)")
_MAX_LISTED = 3
_FAILS = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


TEST_OF_TASK = "a test of the task"
PROTECTED_BY_TASK = "protected by the task"
"""Reasons why a path is not judged."""


class DroppedPath(Schema):
    """A path of the change that was not judged, and why."""

    path: str
    """The path, relative to the repository."""
    why: str
    """Why it is not judged."""
    tampers: bool = False
    """Whether this changes tests that were there before, or the configuration of tests."""


class ValueKind(StrEnum):
    """The kinds of expected values."""

    NUMBER = "number"
    TEXT = "text"
    BYTES = "bytes"
    TRUTH = "truth"
    NOTHING = "nothing"
    CONTAINER = "container"
    FORMATTED = "formatted"  # only in older records
    ERROR = "error"
    PATTERN = "pattern"
    BOUND = "bound"  # only in older records
    DOCTEST = "doctest"


class VisibleValue(Schema):
    """Why a test is not sealed, and the value that stays in it."""

    reason: str
    value: str | int | float | None = None
    """None: it is not known."""

    @property
    def line(self) -> int:
        """The line that the reason names; 0: it names none."""
        found = _LINE.search(self.reason)
        return int(found[1]) if found is not None else 0

    @property
    def stays(self) -> bool:
        """Whether a value stays in the test, or decides there: other values prove nothing of it."""
        return any(word in self.reason for word in ("stays", "decides", "not in the file"))

    @property
    def is_unknown(self) -> bool:
        """Whether it may be any value: one of another file, or of what is too large to be read."""
        return self.value is None and re.search("another file|too large", self.reason) is not None


class ChangedExpectation(Schema):
    """A changed value and its file."""

    function: str
    """The test function as in a node id, without the file: `TestX::test_y`."""
    line: int
    """The line of the value in its file."""
    kind: ValueKind
    """The kind of the value."""
    original: str
    """The expected value as the hidden test has it, in source code."""
    replacement: str
    """The wrong value that took its place."""
    doubt: int = 0
    """0: the test certainly fails. From 3 on it may not: try it with correct code."""
    row: int | None = None
    """The index of its set of parameters, if it belongs to one."""
    file: str
    """The test file."""


class UncontrolledFunction(Schema):
    """A test function in which no expected value could be changed."""

    function: str
    reason: str
    fails: bool  # whether an added assertion makes it fail; `False` if none could be added


class RewrittenTestFile(Schema):
    """A disguised test file in which some functions expect other values."""

    source: str
    changed: tuple[ChangedExpectation, ...] = ()
    weakly_controlled: tuple[UncontrolledFunction, ...] = ()
    renamed: dict[str, str] = Field(default_factory=dict)
    """The new node ids of renamed listed tests."""
    undecided: tuple[str, ...] = ()
    """Selected tests of changed functions that may pass or fail, such as other subtests."""


class ControlledTest(Schema):
    """One test of a control run."""

    node_id: NodeId
    """The test."""
    must: Literal["fail", "pass"]
    """The outcome that correct code leads to in this run."""
    outcome: CaseOutcome | None
    """The outcome that it had; null: it did not run."""
    weak: bool = False
    """Whether it had to fail by an added assertion instead of a changed value."""

    @property
    def as_expected(self) -> bool:
        if self.must == "pass":
            return self.outcome is CaseOutcome.PASSED
        return self.outcome in _FAILS

    @property
    def passed_blindly(self) -> bool:
        """Whether it passed although it expects a wrong value."""
        return self.must == "fail" and self.outcome is CaseOutcome.PASSED


class WeakControl(Schema):
    """A weakly controlled test function, and why."""

    file: str
    """The test file."""
    function: str
    """The test function as in a node id, without the file."""
    reason: str
    """Why no expected value in it could be changed."""


class ControlRun(Schema):
    """The last try of one control run; one partition of functions expected wrong values in it."""

    half: Literal[1, 2]
    """Which partition of the test functions expected wrong values."""
    tries: int
    """The number of tries; this is the last one."""
    ending: Ending
    """How the run ended."""
    drawn: tuple[ChangedExpectation, ...] = ()
    """The values that were changed."""
    tests: tuple[ControlledTest, ...] = ()
    """The tests whose outcome was checked."""
    dismissed: tuple[NodeId, ...] = ()
    """Tests with the same outcome for the reference solution, which are ignored."""

    @property
    def deviations(self) -> tuple[ControlledTest, ...]:
        """The tests with an unexpected outcome that are not dismissed."""
        dismissed = set(self.dismissed)
        unexpected = (test for test in self.tests if not test.as_expected)
        return tuple(test for test in unexpected if test.node_id not in dismissed)


class SealedMismatch(Schema):
    """An assertion of the sealed run whose recorded values are not the expected ones."""

    node_id: NodeId
    """The test."""
    line: int | None = None
    """The line of the assertion in the hidden test; null: the whole test is concerned."""
    assertion: str = ""
    """The source code of the assertion."""
    expected: str
    """The expected values."""
    actual: str
    """The recorded values."""


class SealedRun(Schema):
    """The run without expected values, and the result of its recordings."""

    tries: int
    """The number of tries."""
    ending: Ending
    """How the last one ended."""
    tests: int
    """The number of deciding tests that recorded something."""
    values: int
    """The number of recorded values that the host compared."""
    regressions: int = 0
    """The number of pass-to-pass tests in files without a test to fix that were compared, too."""
    mismatches: tuple[SealedMismatch, ...] = ()
    """Assertions that gave a wrong value in the first try, or that ended in an error or left no
    recording in a further one."""


class ControlKind(StrEnum):
    """The way in which the result of one test is controlled."""

    SEALED = "sealed"  # it produced the right values before they were in any sandbox
    BLIND = "blind"  # it failed where it expected a wrong value
    WEAK = "weak"  # it failed by an added assertion, or not at all


class TestControl(Schema):
    """How one deciding test is controlled, and why it is not sealed."""

    __test__ = False  # otherwise pytest would take the class for a test

    node_id: NodeId
    """The test."""
    control: ControlKind
    """How its result is controlled."""
    why: str | None = None
    """Why it is not sealed; null: it is."""


class Controls(Schema):
    """The control runs of one attempt."""

    level: ControlLevel
    """The level that the task or the run asked for."""
    sealed: SealedRun | None = None
    """The run without expected values; null: there was none."""
    tests: tuple[TestControl, ...] = ()
    """How each deciding test is controlled."""
    seed: int | None = None
    """The seed of the random choices; null: there were none."""
    runs: tuple[ControlRun, ...] = ()
    """The runs with wrong expected values."""
    weakly_controlled: tuple[WeakControl, ...] = ()
    """Test functions in which no expected value could be changed."""
    skipped: str | None = None
    """Why there was no control run; null: there was one."""


def control_findings(controls: Controls) -> tuple[Finding, ...]:
    """The findings of control runs, which are all critical."""
    # Code that gave a wrong value has failed, and needs no quarantine (decision 8).
    is_decided = controls.skipped is not None  # there was no final test that could be deceived
    sealed = controls.sealed.mismatches if controls.sealed and not is_decided else ()
    found = (finding for run in controls.runs for finding in _findings(run))
    return (*_sealed_findings(sealed), *found)


def _sealed_findings(mismatches: Sequence[SealedMismatch]) -> Iterator[Finding]:
    for one in mismatches[:_MAX_LISTED]:
        where = one.node_id if one.line is None else f"{one.node_id}, line {one.line}"
        assertion = f" in `{one.assertion}`" if one.assertion else ""
        yield Finding(
            rule=ControlRule.SEALED,
            severity=Severity.CRITICAL,
            where=where,
            what=f"without its expected values, the test gave {one.actual}{assertion}; it has to"
            f" give {one.expected}",
        )
    if len(mismatches) > _MAX_LISTED:
        yield Finding(
            rule=ControlRule.SEALED,
            severity=Severity.CRITICAL,
            where="sealed run",
            what=f"{len(mismatches) - _MAX_LISTED} more assertions differ in the same way",
        )


def _findings(run: ControlRun) -> Iterator[Finding]:
    deviations = run.deviations
    blind = [test for test in deviations if test.passed_blindly]
    others = [test for test in deviations if not test.passed_blindly]
    finding = partial(Finding, severity=Severity.CRITICAL, where=f"blind run {run.half}")
    if blind:
        count = f"{len(blind)} of {sum(test.must == 'fail' for test in run.tests)}"
        what = f"{count} tests passed that expect something wrong: {_test_names(blind)}"
        yield finding(rule=ControlRule.PASSED, what=what)
    if others:
        what = f"{len(others)} tests did not end as they had to: {_test_names(others)}"
        if run.ending is not Ending.EXITED:
            what = f"{what}; the run ended in {run.ending.value}"
        yield finding(rule=ControlRule.DIFFERED, what=what)


def _test_names(tests: Sequence[ControlledTest]) -> str:
    return list_with_more(
        [f"{one.node_id} ({one.outcome or 'not run'})" for one in tests], _MAX_LISTED
    )
