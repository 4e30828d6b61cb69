"""Runs as JUnit XML, which CI systems read: a suite for each run, a case for each attempt.

A failure is the agent's; an error is the task's or the infrastructure's; an attempt that was
planned and never made is skipped, and so counts as none of the passed. Elements are made by
junitparser one at a time, so that a run of any size takes no memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentbench.report.harmless import harmless
from agentbench.report.rows import verdict_word
from agentbench.report.summary import Summary
from agentbench.runs.headline import Attempt, Headline
from agentbench.scoring.taxonomy import Fault

if TYPE_CHECKING:
    from junitparser.junitparser import Element

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
_END = "</testsuites>\n"
_MESSAGE = 300  # characters
_TEXT = 10_000
_NO_CHARACTERS = ("\ufffe", "\uffff")  # of XML 1.0, though of Unicode; harmless shows all others


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A run as CI systems are to see it."""

    label: str
    attempts: Sequence[Headline]
    unmade: Sequence[Attempt] = ()  # planned, and not made


def junit_pieces(suites: Iterable[Suite]) -> Iterator[str]:
    """JUnit XML, a line a case."""
    yield _DECLARATION
    for suite in suites:
        head, end = _around(suite)
        yield f"{head}\n"
        label = xml_text(suite.label, limit=_MESSAGE)
        for attempt in suite.attempts:
            yield f"{_case(attempt, label)}\n"
        for unmade in suite.unmade:
            yield f"{_skipped(unmade, label)}\n"
        yield f"{end}\n"
    yield _END


def xml_text(text: str, *, limit: int) -> str:
    """A text in which what XML 1.0 cannot hold, and what nobody sees, is made visible."""
    shown = harmless(text, limit=limit, newlines=True)
    for char in _NO_CHARACTERS:
        shown = shown.replace(char, f"\\u{ord(char):04x}")
    return shown


def _around(suite: Suite) -> tuple[str, str]:
    """What stands before and after a suite's cases."""
    from junitparser import TestSuite

    summary = Summary.of(suite.attempts)
    faults = dict(summary.faults)
    element = TestSuite(xml_text(suite.label, limit=_MESSAGE))
    element.tests = summary.overall.total + len(suite.unmade)
    element.failures = faults.get(Fault.AGENT, 0)
    element.errors = summary.overall.total - summary.overall.resolved - element.failures
    element.skipped = len(suite.unmade)
    element.time = round(summary.attempt_seconds, 3)
    element.add_property("resolved", str(summary.overall))
    element.add_property("resolved, judged attempts", str(summary.judged))
    text = _text_of(element)
    end = "</testsuite>"
    return text.removesuffix(end), end


def _case(attempt: Headline, label: str) -> str:
    from junitparser import Error, Failure, TestCase

    case = TestCase(_name(attempt.task_id, attempt.attempt), label, round(attempt.total_s, 3))
    if not attempt.resolved:
        kind = Failure if attempt.fault is Fault.AGENT else Error
        reason = str(attempt.failure_reason or verdict_word(attempt))
        message = f"{reason}: {attempt.detail}" if attempt.detail else reason
        result = kind(xml_text(message, limit=_MESSAGE), reason)
        result.text = xml_text(_explained(attempt), limit=_TEXT)
        case.result = [result]
    return _text_of(case)


def _skipped(unmade: Attempt, label: str) -> str:
    from junitparser import Skipped, TestCase

    case = TestCase(_name(*unmade), label, 0.0)
    case.result = [Skipped("planned, and not made: go on with `agentbench resume`", "not made")]
    return _text_of(case)


def _name(task: str, attempt: int) -> str:
    return task if attempt == 1 else f"{task} attempt {attempt}"


def _explained(attempt: Headline) -> str:
    reason = attempt.failure_reason
    lines = [
        f"{verdict_word(attempt)}, fault: {attempt.fault}",
        f"{reason}: {attempt.detail or reason.description}" if reason else attempt.detail,
        f"files: attempts/{attempt.place}",
    ]
    return "\n".join(filter(None, lines))


def _text_of(element: "Element") -> str:
    text: bytes = element.tostring()  # type: ignore[no-untyped-call]  # the library has no types
    return text.decode()
