"""The attempts of runs as a table, as JSON, CSV and JUnit XML, written in a stream.

In JUnit XML, a suite is a run and a case is an attempt. A failure is the agent's, and an
error is the task's or the infrastructure's. A planned attempt that was not run is skipped, so that
it does not count as passed.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.console import Console

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import printable
from agentbench.report.attempt_text import (
    HEADER,
    cell_makers,
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
from agentbench.taxonomy import Fault

if TYPE_CHECKING:
    from junitparser.junitparser import Element


_STYLES = {"resolved": "green", "failed": "red", "quarantined": "magenta"}
_COLUMNS = (  # those with `below` are moved below their row in narrow terminals
    TableColumn(name="run"),
    TableColumn(name="agent", below=3),
    TableColumn(name="model", below=3),
    TableColumn(name="task"),
    TableColumn(name="attempt", is_right=True),
    TableColumn(name="verdict", styles=_STYLES),
    TableColumn(name="reason"),
    TableColumn(name="tests", below=2),
    TableColumn(name="tampered"),
    TableColumn(name="seconds", is_right=True),
    TableColumn(name="detail", below=1),
)
_ALWAYS = frozenset({"task", "verdict", "tests", "seconds"})
_OF_THE_RUN = frozenset({"run", "agent", "model"})
_FIELDS = {"run": "run_id", "reason": "failure_reason"}
_MAX_ALIGNED_ROWS = 2_000  # rows; larger tables are plain lines, which are not measured first
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # that a spreadsheet would evaluate
_SUITE_END = "</testsuite>"
_MAX_MESSAGE = 300  # characters
_MAX_TEXT = 10_000
_NOT_IN_XML = ("\ufffe", "\uffff")  # not allowed in XML 1.0; `printable` replaces the others


def print_table(attempts: Iterable[AttemptRecord | AttemptSummary], console: Console) -> None:
    """Attempts as a table at a terminal, without uninformative columns."""
    ordered = in_order(attempts)
    columns = [each for each in _COLUMNS if each.name in _ALWAYS or _is_informative(each, ordered)]
    if len(ordered) > _MAX_ALIGNED_ROWS:
        console.file.writelines(_plain_lines(ordered, columns))
        return
    table = [[getattr(row, column.name) for column in columns] for row in rows(ordered)]
    print_rows(columns, table, console)


def _plain_lines(
    attempts: Sequence[AttemptSummary], columns: Sequence[TableColumn]
) -> Iterator[str]:
    """A very long table as plain lines, each written as it is created."""
    makers = cell_makers()
    cells = [makers[HEADER.index(column.name)] for column in columns]
    formats = []
    for column, cell in zip(columns, cells, strict=True):
        width = max(len(column.name), *map(len, map(cell, attempts)))
        formats.append(f"{{:{'>' if column.is_right else '<'}{width}}}")
    formats[-1] = "{}"  # the last column has any width
    line = "  ".join(formats)
    yield f"{line.format(*[column.name for column in columns])}\n"
    for each in attempts:
        yield f"{line.format(*[cell(each) for cell in cells])}\n"


def _is_informative(column: TableColumn, attempts: Sequence[AttemptSummary]) -> bool:
    """Whether a column is informative: not if it is empty or 1 in every row.

    Columns about the run are shown if there are several values.
    """
    name = column.name
    if name == "tampered":
        return any(attempt.tampered for attempt in attempts)
    cells = set(map(attrgetter(_FIELDS.get(name, name)), attempts))
    return len(cells) > 1 if name in _OF_THE_RUN else bool(cells - {"", None, 1})


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
    for row in chain([HEADER], rows(attempts)):
        writer.writerow(row if row is HEADER else [_no_formula(cell) for cell in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _no_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


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
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    for suite in suites:
        yield f"{_suite_start(suite)}\n"
        label = xml_text(suite.label, limit=_MAX_MESSAGE)
        for attempt in suite.attempts:
            yield f"{_case(attempt, label, suite)}\n"
        for unmade in suite.unmade:
            yield f"{_skipped(unmade, label)}\n"
        yield f"{_SUITE_END}\n"
    yield "</testsuites>\n"


def xml_text(text: str, *, limit: int) -> str:
    """A text in which invisible characters, and those invalid in XML 1.0, are made visible."""
    visible_text = printable(text, limit=limit, newlines=True)
    for char in _NOT_IN_XML:
        visible_text = visible_text.replace(char, f"\\u{ord(char):04x}")
    return visible_text


def _suite_start(suite: JUnitSuite) -> str:
    from junitparser import TestSuite

    summary = ResultSummary.of(suite.attempts)
    faults = dict(summary.faults)
    element = TestSuite(xml_text(suite.label, limit=_MAX_MESSAGE))
    element.tests = summary.overall.total + len(suite.unmade)
    element.failures = faults.get(Fault.AGENT, 0)
    element.errors = summary.overall.total - summary.overall.resolved - element.failures
    element.skipped = len(suite.unmade)
    element.time = round(summary.attempt_seconds, 3)
    element.add_property("resolved", str(summary.overall))
    element.add_property("resolved, judged attempts", str(summary.judged))
    element.add_property("quarantined", str(summary.quarantined))
    element.add_property(TAMPERED, str(summary.tampered))
    return _text_of(element).removesuffix(_SUITE_END)


def _case(attempt: AttemptSummary, label: str, suite: JUnitSuite) -> str:
    from junitparser import Error, Failure, TestCase

    case = TestCase(_case_name(attempt.task_id, attempt.attempt), label, round(attempt.total_s, 3))
    if not attempt.resolved:
        kind = Failure if attempt.fault is Fault.AGENT else Error
        reason = str(attempt.failure_reason or verdict_word(attempt))
        message = f"{reason}: {attempt.detail}" if attempt.detail else reason
        result = kind(xml_text(message, limit=_MAX_MESSAGE), reason)
        result.text = xml_text(_explanation(attempt, suite), limit=_MAX_TEXT)
        case.result = [result]
    if attempt.tampered:  # JUnit has no other field for a passed case
        case.system_out = f"{TAMPERED}: {tampered_text(attempt)}"
    return _text_of(case)


def _skipped(unmade: AttemptKey, label: str) -> str:
    from junitparser import Skipped, TestCase

    case = TestCase(_case_name(*unmade), label, 0.0)
    case.result = [Skipped("planned, but not run: continue with `agentbench resume`", "not run")]
    return _text_of(case)


def _case_name(task: str, attempt: int) -> str:
    return task if attempt == 1 else f"{task} attempt {attempt}"


def _explanation(attempt: AttemptSummary, suite: JUnitSuite) -> str:
    reason, cause = attempt.failure_reason, suite.cause_of(attempt)
    lines = [
        f"{verdict_word(attempt)}, fault: {attempt.fault}",
        f"{reason}: {attempt.detail or reason.description}" if reason else attempt.detail,
        *(cause_text(cause) if cause is not None else ()),
        f"files: {PurePosixPath(suite.folder, 'attempts', attempt.folder_name)}",
    ]
    return "\n".join(filter(None, lines))


def _text_of(element: "Element") -> str:
    text: bytes = element.tostring()  # type: ignore[no-untyped-call]  # the library has no types
    return text.decode()
