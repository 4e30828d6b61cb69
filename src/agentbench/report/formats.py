"""The attempts of runs as a table, as JSON, CSV and JUnit XML, written in a stream.

In JUnit XML, a suite is a run and a case is an attempt. A failure is the agent's, and an
error is the task's or the infrastructure's. A planned attempt that was not run is skipped, so that
it does not count as passed.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.console import Console

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import printable
from agentbench.report.attempt_columns import (
    COLUMNS,
    in_order,
    rows,
    tampered_text,
    verdict_word,
)
from agentbench.report.cause_text import cause_text
from agentbench.report.failure_cause import FailureCause
from agentbench.report.json_documents import LeaderboardDocument, ReportDocument, ResultDocument
from agentbench.report.leaderboard import AgentResult, Leaderboard
from agentbench.report.summary import TAMPERED, ResultSummary
from agentbench.report.text_table import TableColumn, print_rows
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import Fault

if TYPE_CHECKING:
    from junitparser.junitparser import Element


_MAX_ALIGNED_ROWS = 2_000  # rows; larger tables are plain lines, which are not measured first
# A spreadsheet would evaluate such a cell, whose text may come from an agent.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_SUITE_END = "</testsuite>"
_MAX_MESSAGE = 300  # characters
_MAX_TEXT = 10_000
_NOT_IN_XML = ("\ufffe", "\uffff")  # not allowed in XML 1.0; `printable` replaces the others


def print_table(attempts: Iterable[AttemptRecord | AttemptSummary], console: Console) -> None:
    """Attempts as a table at a terminal, without uninformative columns."""
    cells = list(rows(in_order(attempts)))
    columns = []
    for column in COLUMNS:
        texts = {row[column.name] for row in cells}
        is_constant = column.is_of_run and len(texts) <= 1
        is_shown = column.is_always_shown or column.is_of_run or bool(texts - {"", "1"})
        if column.in_table and is_shown and not is_constant:
            columns.append(column)
    table = [[row[column.name] for column in columns] for row in cells]
    if len(table) <= _MAX_ALIGNED_ROWS:
        print_rows(columns, table, console)
        return
    # A layout that fits the terminal would take minutes for a hundred thousand rows.
    lines = [[column.name for column in columns], *table]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = [
            cell.rjust(width) if column.is_right else cell.ljust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        ]
        console.file.write("  ".join(padded).rstrip() + "\n")


def print_task_table(attempts: Sequence[AttemptSummary], console: Console) -> None:
    """A row per task at a terminal: how many of its attempts are resolved, and why not others."""
    names = ("task", "resolved", "reasons", "seconds")
    columns = [TableColumn(name=name, is_right=name == "seconds") for name in names]
    by_task: dict[TaskId, list[AttemptSummary]] = {}
    for attempt in in_order(attempts):
        by_task.setdefault(attempt.task_id, []).append(attempt)
    table = []
    for task, own in by_task.items():
        reasons = Counter(
            f"{each.failure_reason}{' (quarantined)' if each.quarantined else ''}"
            for each in own
            if not each.resolved
        )
        cells = [
            printable(task),
            f"{sum(each.resolved for each in own)}/{len(own)}",
            ", ".join(f"{number} {reason}" for reason, number in reasons.items()),
            f"{sum(each.total_s for each in own):.1f}",
        ]
        table.append(cells)
    print_rows(columns, table, console)


def json_chunks(
    results: Sequence[AgentResult],
    records: Iterable[AttemptRecord],
    leaderboard: Leaderboard | None = None,
) -> Iterator[str]:
    """One JSON document (docs/schema/report.json) in chunks, with each record on a line."""
    head = ReportDocument(
        results=tuple(map(ResultDocument.model_validate, results)),
        leaderboard=None if leaderboard is None else LeaderboardDocument.of(leaderboard),
        attempts=(),
    )
    # A run may have more records than fit in memory, so each is printed as soon as it is read.
    yield head.model_dump_json(indent=1).removesuffix("]\n}")
    comma = "\n"
    for record in records:
        yield f"{comma}{json.dumps(record.model_dump(mode='json'))}"
        comma = ",\n"
    yield "\n]}\n"


def csv_lines(attempts: Iterable[AttemptSummary]) -> Iterator[str]:
    """CSV, line by line."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    names = [column.name for column in COLUMNS]
    for cells in chain([names], (row.values() for row in rows(attempts))):
        writer.writerow(f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell for cell in cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitSuite:
    """A run for CI systems."""

    label: str
    attempts: Sequence[AttemptSummary]
    unmade: Sequence[AttemptKey] = ()  # planned, but not run
    folder: str = ""  # of the run; empty: unknown
    cause_of: Callable[[AttemptSummary], FailureCause | None] = lambda _attempt: None
    """Why an attempt failed; read only for those that are not resolved."""


def junit_lines(suites: Iterable[JUnitSuite]) -> Iterator[str]:
    """JUnit XML, one line per case."""
    from junitparser import Skipped, TestCase, TestSuite

    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    for suite in suites:
        summary = ResultSummary.of(suite.attempts)
        element = TestSuite(xml_text(suite.label, limit=_MAX_MESSAGE))
        element.tests = summary.overall.total + len(suite.unmade)
        element.failures = dict(summary.faults).get(Fault.AGENT, 0)
        element.errors = summary.overall.total - summary.overall.resolved - element.failures
        element.skipped = len(suite.unmade)
        element.time = round(summary.attempt_seconds, 3)
        element.add_property("resolved", str(summary.overall))
        element.add_property("resolved, judged attempts", str(summary.judged))
        element.add_property("quarantined", str(summary.quarantined))
        element.add_property(TAMPERED, str(summary.tampered))
        # Its cases follow line by line, since a run may have more than fit in memory.
        yield f"{_text_of(element).removesuffix(_SUITE_END)}\n"
        label = xml_text(suite.label, limit=_MAX_MESSAGE)
        for attempt in suite.attempts:
            yield f"{_case(attempt, label, suite)}\n"
        for unmade in suite.unmade:
            case = TestCase(_case_name(*unmade), label, 0.0)
            what = "planned, but not run: continue with `agentbench resume`"
            case.result = [Skipped(what, "not run")]
            yield f"{_text_of(case)}\n"
        yield f"{_SUITE_END}\n"
    yield "</testsuites>\n"


def xml_text(text: str, *, limit: int) -> str:
    """A text in which invisible characters, and those invalid in XML 1.0, are made visible."""
    visible_text = printable(text, limit=limit, newlines=True)
    for char in _NOT_IN_XML:
        visible_text = visible_text.replace(char, f"\\u{ord(char):04x}")
    return visible_text


def _case(attempt: AttemptSummary, label: str, suite: JUnitSuite) -> str:
    from junitparser import Error, Failure, TestCase

    case = TestCase(_case_name(attempt.task_id, attempt.attempt), label, round(attempt.total_s, 3))
    if not attempt.resolved:
        kind = Failure if attempt.fault is Fault.AGENT else Error
        reason = str(attempt.failure_reason or verdict_word(attempt))
        message = f"{reason}: {attempt.detail}" if attempt.detail else reason
        result = kind(xml_text(message, limit=_MAX_MESSAGE), reason)
        # A message such as "3 of 8 tests failed" explains nothing: a CI system shows this text,
        # and its reader needs the failing test, and the run that the files are in.
        described, cause = attempt.failure_reason, suite.cause_of(attempt)
        detail = attempt.detail or (described.description if described else "")
        lines = (
            f"{verdict_word(attempt)}, fault: {attempt.fault}",
            f"{described}: {detail}" if described else detail,
            *(cause_text(cause) if cause is not None else ()),
            f"files: {PurePosixPath(suite.folder, 'attempts', attempt.folder_name)}",
        )
        result.text = xml_text("\n".join(filter(None, lines)), limit=_MAX_TEXT)
        case.result = [result]
    if attempt.tampered:
        # JUnit has no other field for a passed case.
        case.system_out = f"{TAMPERED}: {tampered_text(attempt)}"
    return _text_of(case)


def _case_name(task: str, attempt: int) -> str:
    return task if attempt == 1 else f"{task} attempt {attempt}"


def _text_of(element: "Element") -> str:
    text: bytes = element.tostring()  # type: ignore[no-untyped-call]  # the library has no types
    return text.decode()
