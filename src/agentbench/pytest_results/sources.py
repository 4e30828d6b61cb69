"""Chooses what to believe: the stream, else pytest-json-report, else junit, text, exit code."""

from dataclasses import dataclass

from agentbench.pytest_results import fallback
from agentbench.pytest_results.elements import elements
from agentbench.pytest_results.json_report import merge_bit_by_bit, read_json_report
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.packed import Text, chunks_of, lines_of, whole
from agentbench.pytest_results.parse import merge
from agentbench.pytest_results.report_text import parse_report
from agentbench.pytest_results.session import Session
from agentbench.pytest_results.stream import read_stream
from agentbench.scoring.evidence import ReportSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """What reporters left behind, None for a file that is missing or was refused."""

    stream: Text | None = None
    json_report: Text | None = None
    junit: Text | None = None


def session_of(files: ReportFiles, text_output: str, *, report_limit: int | None = None) -> Session:
    """The session as the most trusted source tells it that says anything.

    Args:
        files: What reporters left behind.
        text_output: What pytest printed.
        report_limit: Bytes; a JSON report that is larger has its say, but is not kept.
    """
    stream = read_stream(lines_of(files.stream or ""))
    said = files.json_report or ""
    if stream.started and report_limit is not None and len(said) > report_limit:
        return merge_bit_by_bit(stream, elements(chunks_of(said), "tests"))
    return _chosen(stream, parse_report(whole(said)), files.junit, text_output)


def session_of_report(report: JsonObject | None, text_output: str) -> Session:
    """The same where there is a JSON report at most, which is parsed: its text need not be held."""
    return _chosen(read_stream(iter(())), report, None, text_output)


def _chosen(
    stream: Session, parsed: JsonObject | None, junit: Text | None, text_output: str
) -> Session:
    report = read_json_report(parsed) if parsed is not None else None
    if report is not None and (stream.started or report.finished):
        return merge(stream, report)
    if stream.started or stream.spawn_error is not None:
        return stream
    told = fallback.read_junit(whole(junit)) if junit is not None else None
    return told or fallback.read_text(text_output) or Session(source=ReportSource.EXIT_CODE)
