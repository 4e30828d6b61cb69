"""Chooses what to believe: the stream, else pytest-json-report, else junit, text, exit code."""

from dataclasses import dataclass
from io import StringIO

from agentbench.pytest_results import fallback, untrusted
from agentbench.pytest_results.json_report import read_json_report
from agentbench.pytest_results.parse import merge
from agentbench.pytest_results.session import Session
from agentbench.pytest_results.stream import read_stream
from agentbench.scoring.evidence import ReportSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """What reporters left behind, None for a file that is missing or was refused."""

    stream: str | None = None
    json_report: str | None = None
    junit: str | None = None


def session_of(files: ReportFiles, text_output: str) -> Session:
    """The session as the most trusted source tells it that says anything."""
    stream = read_stream(StringIO(files.stream or "", newline="\n"))
    parsed = untrusted.json_object(files.json_report or "")
    report = read_json_report(parsed) if parsed is not None else None
    if report is not None and (stream.started or report.finished):
        return merge(stream, report)
    if stream.started or stream.spawn_error is not None:
        return stream
    told = fallback.read_junit(files.junit) if files.junit is not None else None
    return told or fallback.read_text(text_output) or Session(source=ReportSource.EXIT_CODE)
