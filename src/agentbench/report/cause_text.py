"""The cause of a failed attempt as labelled lines of text, for the terminal and the web page."""

from collections.abc import Iterator
from typing import NamedTuple

from agentbench.core.display_text import counted, one_line, printable
from agentbench.report.failed_test import FailedTest
from agentbench.report.failure_cause import FailureCause

_MAX_VALUE = 240  # characters; three lines of a narrow terminal
_MAX_LINE = 160
_MESSAGE_LINES = 5


class CauseFact(NamedTuple):
    """A part of a cause: its label, and its lines."""

    label: str
    lines: tuple[str, ...]


def cause_facts(cause: FailureCause) -> list[CauseFact]:
    """The facts behind a cause, the most informative first; all are safe to show."""
    facts = [*_test_facts(cause.test)] if cause.test is not None else []
    touched = cause.touched
    if touched.lines:
        lines = [
            printable(f"{line.path}:{line.line}  {line.sign} {line.text}", limit=_MAX_LINE)
            for line in touched.lines
        ]
        more = [f"and {counted(touched.more, 'more changed line')}"] if touched.more else []
        label = "in the traceback" if touched.in_traceback else "changed"
        facts.append(CauseFact(label, (*lines, *more)))
    output = tuple(printable(line, limit=_MAX_LINE) for line in cause.output)
    return [*facts, CauseFact("last output", output)] if output else facts


def cause_text(cause: FailureCause) -> Iterator[str]:
    """A cause as lines of text."""
    yield "why it failed"
    yield f"  {printable(cause.summary)}"
    facts = cause_facts(cause)
    width = max((len(fact.label) for fact in facts), default=0)
    for fact in facts:
        for number, line in enumerate(fact.lines):
            yield f"    {'' if number else fact.label:<{width}}  {line}".rstrip()
    yield from (f"  {printable(note, limit=_MAX_VALUE)}" for note in cause.notes)


def _test_facts(test: FailedTest) -> Iterator[CauseFact]:
    if test.assertion or test.where:
        where = f"{test.where}: " if test.where else ""
        # An exception that the code raised is no assertion of the test.
        label = "assertion" if test.expected or "assert" in test.assertion.lower() else "raised at"
        yield CauseFact(label, (one_line(f"{where}{test.assertion}", limit=_MAX_VALUE),))
    if test.expected or test.actual:
        yield CauseFact("expected", (one_line(test.expected, limit=_MAX_VALUE),))
        yield CauseFact("actual", (one_line(test.actual, limit=_MAX_VALUE),))
    for label, text in (("error", test.message), ("difference", test.difference)):
        lines = [line for line in text.splitlines() if line.strip()]
        shown = tuple(printable(line, limit=_MAX_LINE) for line in lines[:_MESSAGE_LINES])
        if shown:
            yield CauseFact(label, (*shown, "…") if len(lines) > _MESSAGE_LINES else shown)
