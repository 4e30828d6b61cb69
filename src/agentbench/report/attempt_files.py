"""Reads the files of an attempt that explain a failure: its reports, its patch, its logs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import ConfigDict, ValidationError

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.taxonomy import StageName

# The agent decides how large its patch and its report are.
_MAX_BYTES = 32 * 1024 * 1024
_TAIL_BYTES = 16 * 1024
_LOG_PREFIX = re.compile(r"^\[ *\d+\.\d+ (?:stdout|stderr)\] ?")


def without_log_prefix(line: str) -> str:
    """A line of a log without the time and the stream at its beginning."""
    return _LOG_PREFIX.sub("", line)


def log_name(stage: str) -> str:
    """The path of a stage's log in its attempt's folder."""
    return f"stages/{stage}.log"


class ReportedCase(Schema):
    """One test of a stored report."""

    # Only a part of the stored report is read, and reports of former releases have other fields.
    model_config = ConfigDict(extra="ignore")

    node_id: NodeId
    outcome: CaseOutcome
    message: str | None = None
    traceback: str | None = None


class StoredError(Schema):
    """A collection error of a stored report."""

    model_config = ConfigDict(extra="ignore")

    file: str
    message: str
    traceback: str = ""


class StoredReport(Schema):
    """The parts of `final.json` that explain a failure."""

    model_config = ConfigDict(extra="ignore")

    tests: tuple[ReportedCase, ...] = ()
    collection_errors: tuple[StoredError, ...] = ()
    text_output: str = ""
    detail: str | None = None
    spawn_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFiles:
    """The files of one attempt; `open` returns None for a missing one."""

    open: Callable[[str], BinaryIO | None]

    def patch(self) -> bytes:
        return self._read("patch.diff")

    def final_report(self) -> StoredReport:
        """The report of the final test; an empty one if it is missing, too large or malformed."""
        try:
            return StoredReport.model_validate_json(self._read("final.json"))
        except ValidationError:
            return StoredReport()

    def log_tail(self, stage: StageName, lines: int) -> tuple[str, ...]:
        """The last lines of a stage's output that are not blank."""
        file = self.open(log_name(stage))
        if file is None:
            return ()
        with file:
            # Only the end is read, since a log may have any size.
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
        found = (_LOG_PREFIX.sub("", line).rstrip() for line in text.splitlines())
        return tuple(line for line in found if line)[-lines:]

    def _read(self, name: str) -> bytes:
        file = self.open(name)
        if file is None:
            return b""
        with file:
            content = file.read(_MAX_BYTES + 1)
        return content if len(content) <= _MAX_BYTES else b""


def files_in(folder: Path) -> AttemptFiles:
    """The files in an attempt's folder."""

    def opened(name: str) -> BinaryIO | None:
        path = folder / name
        return path.open("rb") if path.is_file() else None

    return AttemptFiles(open=opened)
