"""The first deciding test that did not pass: its assertion, its expected and actual values."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentbench.attempt.record import AttemptRecord
from agentbench.python_source import python_syntax
from agentbench.report.attempt_files import ReportedCase, StoredReport
from agentbench.report.patch_lines import frames_of
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseOutcome
from agentbench.scoring.node_ids import file_of
from agentbench.scoring.verdict import CaseChange

_RANKS = {CaseOutcome.FAILED: 0, CaseOutcome.ERROR: 0, CaseOutcome.UNFINISHED: 1}
_HIDDEN_BY_SEAL = "of the sealed test>"
_PREFIX = re.compile(r"^(?:AssertionError|self\.failureException): ")
_DIFFER = re.compile(r"^[\w ]+ differ: ")
_NO_ERROR = re.compile(r"DID NOT RAISE (?:<class '(?P<named>[^']+)'>|(?P<plain>.+))")
_MAX_PARSED = 2_000  # characters of a message
_EXPECTED_NAMES = ("expected", "want")
_NO_DIFFERENCE = ("+  where", "Use -v")  # lines of pytest that explain no difference
_UNRAISED = "no exception"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTest:
    """A test that did not pass, as far as its report says why."""

    node_id: str
    what: str  # its result, as the rest of a sentence with the test as the subject
    assertion: str = ""
    where: str = ""  # the assertion's file and line
    expected: str = ""
    actual: str = ""
    message: str = ""  # of the error; empty if the expected and the actual value say it all
    difference: str = ""  # of the two values, if the runner abridges them
    traceback: str = ""


def failing_tests(record: AttemptRecord) -> list[CaseChange]:
    """The deciding tests that did not pass, those that ended by themselves first."""
    deciding = [test for test in record.tests if test.listed] or list(record.tests)
    # An outcome that the test gave itself says more than that of a test which was cut off.
    return sorted(
        filter(_fails, deciding),
        key=lambda test: 2 if test.final is None else _RANKS.get(test.final, 2),
    )


def describe_test(test: CaseChange, record: AttemptRecord, report: StoredReport) -> FailedTest:
    """Describe a test that did not pass, by the report and the sealed run."""
    sealed = record.controls.sealed if record.controls is not None else None
    mismatches = sealed.mismatches if sealed is not None else ()
    mismatch = next((one for one in mismatches if one.node_id == test.node_id), None)
    cases = [case for case in report.tests if case.node_id == test.node_id]
    case = next((one for one in cases if one.outcome is test.final), None)
    what = _ending(test)
    # After a sealed run with wrong values there is no final test (docs/decisions/0008).
    if mismatch is not None and (case is None or not case.traceback):
        has_line = mismatch.line is not None
        return FailedTest(
            node_id=test.node_id,
            what=what,
            assertion=mismatch.assertion,
            where=f"{file_of(mismatch.node_id)}:{mismatch.line}" if has_line else "",
            expected=mismatch.expected,
            actual=mismatch.actual,
        )
    if case is None:
        return FailedTest(node_id=test.node_id, what=what)
    return _by_report(case, what)


def _fails(test: CaseChange) -> bool:
    if test.listed == "fail_to_pass":
        return test.final is not CaseOutcome.PASSED
    return test.final in FAILING_OUTCOMES or (test.listed is not None and test.final is None)


def _ending(test: CaseChange) -> str:
    if test.final is None:
        return "did not run"
    if test.final is CaseOutcome.UNFINISHED:
        return "did not run to its end"
    if test.final not in FAILING_OUTCOMES:
        return f"was {test.final.value}, which does not count as passed"
    if test.baseline is CaseOutcome.PASSED:
        return "passed before the change and fails now (a regression)"
    still = "still " if test.baseline in FAILING_OUTCOMES else ""
    phase = " in its set-up or teardown" if test.final is CaseOutcome.ERROR else ""
    return f"{still}fails{phase}"


def _by_report(case: ReportedCase, what: str) -> FailedTest:
    traceback, message = case.traceback or "", (case.message or "").strip()
    last = next(reversed(list(frames_of(traceback))), None)
    assertion = _marked_source(traceback) or (last.text if last is not None else "")
    is_sealed = _HIDDEN_BY_SEAL in assertion
    compared = _compared_values(message[:_MAX_PARSED], assertion)
    expected, actual = compared or ("", "")
    difference = ""
    if "..." in f"{expected}{actual}":
        lines = message.splitlines()
        sides = (n for n, line in enumerate(lines) if " == " in line or " != " in line)
        after = lines[next(sides, len(lines)) + 1 :]
        difference = "\n".join(
            line for line in after if not line.strip().startswith(_NO_DIFFERENCE)
        )
    # pytest abridges long values, so that both may read the same: two equal lines explain nothing.
    if difference and expected == actual:
        expected = actual = ""
    return FailedTest(
        node_id=case.node_id,
        what=what,
        assertion="" if is_sealed else assertion,
        where=f"{last.path}:{last.line}" if last is not None and not is_sealed else "",
        expected=expected,
        actual=actual,
        message="" if compared else message,
        difference=difference,
        traceback=traceback,
    )


def _marked_source(traceback: str) -> str:
    """The statement that pytest marks in its last frame, on one line."""
    lines = traceback.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(">  ")]
    if not starts:
        return ""
    source = [lines[starts[-1]][1:].strip()]
    for line in lines[starts[-1] + 1 :]:
        if not line.startswith("  ") or not line.strip(" ^~"):
            break
        source.append(line.strip())
    return " ".join(source)


def _compared_values(message: str, source: str) -> tuple[str, str] | None:
    """The expected and the actual value of a comparison; None if the message has none."""
    raised = _NO_ERROR.search(message)
    if raised:
        name = (raised["named"] or raised["plain"]).removeprefix("builtins.")
        return name, _UNRAISED
    lines = [_PREFIX.sub("", line.strip()) for line in message.splitlines()]
    asserted = next((line[7:] for line in lines if line.startswith("assert ")), "")
    compared = _DIFFER.sub("", lines[0]) if lines and not asserted else ""
    sides = _sides(asserted, " == ") or _sides(compared, " != ")
    if sides is None:
        return None
    return sides if _expects_first(source) else (sides[1], sides[0])


def _sides(text: str, operator: str) -> tuple[str, str] | None:
    """Both sides of a comparison; None if its operator is ambiguous."""
    try:
        tree = python_syntax.parse(text).body
    except python_syntax.UNPARSABLE:
        left, found, right = text.partition(operator)
        return (left, right) if found and operator not in right else None
    compared = tree[0].value if len(tree) == 1 and isinstance(tree[0], ast.Expr) else None
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return None
    wanted = ast.Eq if operator == " == " else ast.NotEq
    if not isinstance(compared.ops[0], wanted):
        return None
    left_text = ast.get_source_segment(text, compared.left)
    right_text = ast.get_source_segment(text, compared.comparators[0])
    return (left_text, right_text) if left_text and right_text else None


def _expects_first(source: str) -> bool:
    """Whether only the first of the compared expressions is a literal, or is called expected."""
    try:
        tree = python_syntax.parse(source).body
    except python_syntax.UNPARSABLE:
        return False
    statement = tree[0] if len(tree) == 1 else None
    sides: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        sides = (statement.test.left, statement.test.comparators[0])
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        sides = statement.value.args[:2]
    return len(sides) == 2 and _is_expected(sides[0]) and not _is_expected(sides[1])


def _is_expected(node: ast.expr) -> bool:
    if python_syntax.name_of(node).lower().startswith(_EXPECTED_NAMES):
        return True
    kinds = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Await)
    return not any(isinstance(each, kinds) for each in ast.walk(node))
