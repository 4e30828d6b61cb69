"""Attempts in every format that needs no run, as the command prints them."""

import io
from collections.abc import Sequence

from rich.console import Console

from agentbench.attempt.record import AttemptRecord
from agentbench.report.attempt_columns import in_order, rows
from agentbench.report.formats import csv_lines, json_chunks, print_table
from agentbench.report.leaderboard import AgentResult, Entrant, results_by_agent
from agentbench.report.text_reports import report_markdown


def as_json(records: Sequence[AttemptRecord]) -> str:
    return "".join(json_chunks(_results(records), records))


def as_csv(records: Sequence[AttemptRecord]) -> str:
    return "".join(csv_lines(in_order(records)))


def as_markdown(records: Sequence[AttemptRecord]) -> str:
    return "".join(report_markdown(_results(records), in_order(records)))


def as_table(records: Sequence[AttemptRecord]) -> str:
    buffer = io.StringIO()
    print_table(records, Console(file=buffer, width=160, color_system=None))
    return buffer.getvalue()


def rows_of(records: Sequence[AttemptRecord]) -> list[dict[str, str]]:
    return list(rows(in_order(records)))


def _results(records: Sequence[AttemptRecord]) -> Sequence[AgentResult]:
    return results_by_agent([Entrant(name="", attempts=in_order(records))])
