"""The envelope of every answer of a tool, in which paths of the host are masked."""

import os.path
import re
import signal
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, SkipValidation

from agentbench.core.display_text import counted
from agentbench.core.schema import JsonObject, Schema
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, PytestOutcome, ReportSource
from agentbench.test_runs import model
from agentbench.test_runs.runner import TestRun

HIDDEN = "<host>"  # the replacement of a path outside the project
_TOPS = (
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "data",
    "home", "media", "mnt", "nix", "opt", "private", "root", "snap", "srv", "tmp", "usr", "var",
    "Applications", "Library", "System", "Users", "Volumes",
)  # fmt: skip
_PART = r"""[^\s/'"`<>|*?:;,()\[\]{}\\]"""
_LIBRARY = re.compile(r"/(?:lib(?:64)?/python3?(?:\.\d+)?/)?((?:site|dist)-packages/.+)$")
_STANDARD = re.compile(r"/lib(?:64)?/(python3?\.\d+/.+)$")
AnswerOutcome = Literal[
    "passed", "failed", "no_tests", "collection_error", "interrupted", "pytest_internal", "usage",
    "timeout", "crash", "unverified", "spawn", "discovered", "explained", "invalid_arguments",
    "path_outside_root", "internal_error",
]  # fmt: skip
_FAILED = "pytest execution failed"
_IDS = ("nodeid", "node_id")  # keys of the ids of tests
_COUNTED = (
    "failed", "passed", "skipped", "errors", "xfailed", "xpassed", "unfinished", "deselected"
)  # fmt: skip
_KILL_CAUSES = {Ending.OUT_OF_MEMORY: "out of memory", Ending.OUT_OF_DISK: "out of disk"}


class PathMask:
    """Masks paths in text.

    `root` is the project's folder, absolute and resolved. `tops` are more names of folders in `/`,
    and `known` absolute paths that may contain spaces, such as the user's home.
    """

    def __init__(
        self, root: PurePosixPath, *, tops: Iterable[str] = (), known: Iterable[str] = ()
    ) -> None:
        self._root = str(root)
        self._tops = frozenset({*_TOPS, *tops, *root.parts[1:2]})
        tops_pattern = "|".join(sorted(map(re.escape, self._tops)))
        paths = [re.escape(path) for path in sorted(known, key=len, reverse=True) if len(path) > 1]
        paths.append(rf"/(?:{tops_pattern})/")
        own = re.escape(self._root)
        self._own = re.compile(rf"(?<![\w.-])/*{own}(?:/(?={_PART})|(?:/|(?![\w.-])))")
        self._host = re.compile(rf"(?<![\w.>-])/*(?:{'|'.join(paths)})(?:{_PART}|/)*")
        self._upwards = re.compile(rf"(?<![\w./-])(?:\.\./)+(?:{_PART}|/)*")

    def text(self, text: str) -> str:
        """The text without paths outside of the project."""
        if "/" not in text:
            return text
        if len(self._root) > 1:
            text = self._own.sub(_relative, text)
        text = self._upwards.sub(self._hide_upwards, text)
        return self._host.sub(lambda found: _masked(found[0]), text)

    def value(self, value: object) -> object:
        """A JSON value with all strings masked, except ids of tests."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: item if key in _IDS else self.value(item) for key, item in value.items()}
        return value

    def _hide_upwards(self, found: re.Match[str]) -> str:
        # pytest prints paths out of the project as relative ones. Plain dots stay.
        path = os.path.normpath(f"{self._root}/{found[0]}")
        top = PurePosixPath(path).parts[1:2]
        inside = path == self._root or path.startswith(f"{self._root}/")
        return found[0] if inside or not self._tops.issuperset(top) else _masked(path)


def _relative(found: re.Match[str]) -> str:
    goes_on = re.match(_PART, found.string[found.end() :][:1]) is not None
    return "" if found[0].endswith("/") and goes_on else "."


def _masked(path: str) -> str:
    # The part after site-packages says nothing about the machine.
    library = _LIBRARY.search(path) or _STANDARD.search(path)
    return HIDDEN if library is None else f"{HIDDEN}/{library[1]}"


class PytestErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    VALIDATION = "ValidationError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class ErrorDetails(Schema):
    """ADR-007's diagnosis of a run that did not finish, and details of other errors."""

    error_type: str
    exit_code: int | None = None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    command: tuple[str, ...] = ()
    duration: float | None = None  # seconds
    faults: tuple[str, ...] = Field(default=(), description="every fault of wrong arguments")
    incident: str | None = Field(default=None, description="names a bug's traceback on stderr")


class ErrorObject(Schema):
    """The content of a JSON-RPC error, which `--error-mode jsonrpc` sends."""

    code: int
    message: str
    data: ErrorDetails


class PytestAnswer(Schema):
    """An answer of any tool. Fields without a meaning in a case have their defaults."""

    status: Literal["success", "error"]
    outcome: AnswerOutcome
    error_type: PytestErrorType | None = None
    message: str
    exit_code: int | None = None
    summary: model.PytestSummary = Field(default_factory=model.PytestSummary)
    tests: tuple[model.CaseResult, ...] = ()
    json_report: SkipValidation[JsonObject] = Field(default_factory=dict)
    text_output: str = ""
    collection_errors: tuple[model.CollectionError, ...] = ()
    complete: bool = Field(default=False, description="false when the run died midway")
    source: ReportSource | None = Field(default=None, description="the reporter that it comes from")
    omitted: tuple[str, ...] = Field(default=(), description="the parts that were omitted for size")
    spawn_error: str | None = None
    detail: str | None = None
    versions: model.Versions | None = None
    node_ids: tuple[NodeId, ...] = Field(default=(), description="the result of discover_tests")
    explanation: str | None = Field(default=None, description="the result of explain_failure")
    error: ErrorObject | None = None


SERIALIZED_FIELDS = tuple(
    name for name in model.PytestResult.model_fields if name in PytestAnswer.model_fields
)
"""The fields from the serializer (`outcome` may be a tool's own word)."""

SERVER_ERROR, INVALID_PARAMS, INTERNAL_ERROR = -32000, -32602, -32603  # of JSON-RPC

_RUNTIME = PytestErrorType.RUNTIME, SERVER_ERROR
ERROR_OF_OUTCOME: Mapping[str, tuple[PytestErrorType, int]] = {
    PytestOutcome.INTERRUPTED: _RUNTIME,
    PytestOutcome.PYTEST_INTERNAL: _RUNTIME,
    PytestOutcome.USAGE: (PytestErrorType.VALUE, INVALID_PARAMS),
    PytestOutcome.TIMEOUT: (PytestErrorType.TIMEOUT, SERVER_ERROR),
    PytestOutcome.CRASH: _RUNTIME,
    PytestOutcome.UNVERIFIED: _RUNTIME,
    PytestOutcome.SPAWN: _RUNTIME,
    "invalid_arguments": (PytestErrorType.VALUE, INVALID_PARAMS),
    "path_outside_root": (PytestErrorType.VALIDATION, INVALID_PARAMS),  # by ADR-009
    "internal_error": (PytestErrorType.RUNTIME, INTERNAL_ERROR),
}
"""The type and the code of the outcomes that are errors; failing tests are not (ADR-007)."""


def message_of(run: TestRun, timeout_s: float) -> str:
    """A one-line summary."""
    result, command = run.result, run.command
    match result.outcome:
        case PytestOutcome.TIMEOUT:
            text = f"pytest execution exceeded timeout of {timeout_s:g} seconds"
        case PytestOutcome.CRASH:
            name = signal_name(command)
            why = f" ({_KILL_CAUSES[command.ending]})" if command.ending in _KILL_CAUSES else ""
            end = f"exit code {command.exit_code}" if name is None else f"signal {name}{why}"
            text = f"pytest subprocess terminated with {end}"
        case PytestOutcome.SPAWN:
            text = spawn_message(result.spawn_error or "the sandbox was lost")
        case PytestOutcome.INTERRUPTED:
            text = f"{_FAILED}: Test execution was interrupted{_cause(result.detail)}"
        case PytestOutcome.PYTEST_INTERNAL:
            text = f"{_FAILED}: pytest internal error occurred{_cause(result.detail)}"
        case PytestOutcome.USAGE:
            lines = [line for line in command.stderr.splitlines() if line.startswith("ERROR: ")]
            why = lines[0].removeprefix("ERROR: ") if lines else ""
            text = f"{_FAILED}: Invalid pytest arguments{_cause(why)}"
        case PytestOutcome.UNVERIFIED:
            text = f"{_FAILED}: it exited {result.exit_code}, but no report confirms that"
        case _:
            counts = result.summary.model_dump()
            listed = ", ".join(
                counted(counts[word], "error") if word == "errors" else f"{counts[word]} {word}"
                for word in _COUNTED
                if counts[word]
            )
            text = f"{listed or 'no tests'} in {result.summary.duration:.2f} s"
    return text


def spawn_message(details: str) -> str:
    """ADR-007's message for a pytest that did not start."""
    return f"Failed to spawn pytest subprocess: {details}"


def signal_name(command: CommandResult) -> str | None:
    """The signal that ended a command."""
    number = command.signal
    if number is None and command.ending in _KILL_CAUSES:
        number = signal.SIGKILL
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cause(detail: str | None) -> str:
    # The last line of a traceback has the reason.
    lines = [line for line in (detail or "").splitlines() if line.strip()]
    return f": {lines[-1].strip()[:300]}" if lines else ""
