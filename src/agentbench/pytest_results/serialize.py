"""ADR-006's function: turns the files of a pytest run into one dictionary."""

from pathlib import Path

from agentbench.core.memory_tuning import paused
from agentbench.core.schema import JsonObject
from agentbench.pytest_results.json_report import parse_json_report
from agentbench.pytest_results.model import PytestResult
from agentbench.pytest_results.parse import PytestExit, result_of, session_of_report
from agentbench.scoring.evidence import Ending

REPORT_LIMIT = 256 * 1024 * 1024
"""The most bytes of a report; a larger one counts as missing."""


def serialize_pytest_results(
    exit_code: int, json_report_path: Path | None, text_output: str
) -> JsonObject:
    """The result of a run in ADR-006's form; a missing or broken report is not an error.

    A negative exit code is a signal, as in `subprocess`.
    """
    ending = Ending.EXITED if exit_code >= 0 else Ending.KILLED
    ended = PytestExit(ending=ending, exit_code=exit_code)
    with paused():
        report = parse_json_report(_read(json_report_path) or "")
        # The session is freed before the dictionary is created.
        result = result_of(session_of_report(report, text_output), ended, text_output=text_output)
        return result_as_dict(result)


def result_as_dict(result: PytestResult) -> JsonObject:
    """A result as plain JSON values; the report is not copied."""
    report: JsonObject = {"json_report": result.json_report}
    return result.model_dump(mode="json", exclude={"json_report"}) | report


def _read(path: Path | None) -> str | None:
    try:
        if path is None or not path.is_file() or path.stat().st_size > REPORT_LIMIT:
            return None
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
