"""ADR-006's function: files of a pytest run in, one dictionary out."""

from pathlib import Path

from agentbench.pytest_results.model import JsonObject, PytestResult
from agentbench.pytest_results.outcome import Ended
from agentbench.pytest_results.parse import result_of
from agentbench.pytest_results.sources import ReportFiles, session_of
from agentbench.scoring.evidence import Ending

REPORT_LIMIT = 256 * 1024 * 1024
"""Bytes of the largest report that is read; a larger one counts as missing."""


def serialize_pytest_results(
    exit_code: int, json_report_path: Path | None, text_output: str
) -> JsonObject:
    """The result of a run, in ADR-006's shape; a missing or broken report is no error.

    A negative exit code is a signal, as `subprocess` tells it.
    """
    ending = Ending.EXITED if exit_code >= 0 else Ending.KILLED
    files = ReportFiles(json_report=_read(json_report_path))
    session = session_of(files, text_output)
    return as_dict(
        result_of(session, Ended(ending=ending, exit_code=exit_code), text_output=text_output)
    )


def as_dict(result: PytestResult) -> JsonObject:
    """A result as plain JSON values; the report is handed on as it is, not copied."""
    report: JsonObject = {"json_report": result.json_report}
    return result.model_dump(mode="json", exclude={"json_report"}) | report


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            data = file.read(REPORT_LIMIT + 1)
    except OSError:
        return None
    return data if len(data) <= REPORT_LIMIT else None
