"""Reads an attempt's files for its page, and serves them unchanged."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from markupsafe import Markup
from pydantic import ValidationError
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import DiffLexer
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentbench.attempt.logs import TRAJECTORY_FILE
from agentbench.attempt.timeline.document import TIMELINE_FILE, Timeline
from agentbench.core.display_text import printable
from agentbench.extensions.view.auth_guard import FILE_CSP
from agentbench.extensions.view.queries import PageSlice
from agentbench.extensions.view.rendering import PageContext
from agentbench.extensions.view.run_cache import RunningAttempt
from agentbench.extensions.view.runs_folder import RUN_FILE, PageNotFoundError, RunsFolder
from agentbench.models.trajectory import Step
from agentbench.report.attempt_files import log_name
from agentbench.report.transcript_text import TRAJECTORY_BYTES, parse_trajectory
from agentbench.taxonomy import StageName

_HEAD_BYTES, _TAIL_BYTES = 4_096, 12_288  # bytes of a log
_LIVE_TAIL = 2_048  # of a growing log
_LIVE_LINES = 12
_PATCH_BYTES = 256 * 1024
# An agent decides how long a line of its patch is.
_LONGEST_LINE = 2_000
STEPS_PER_PAGE = 50
_CHUNK = 64 * 1024
_TIMELINE_BYTES = 16 * 1024 * 1024  # one of 400 states with 50 broken tests each has 3 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExcerpt:
    """The shown parts of a log."""

    head: str
    left_out: int  # bytes between the two
    tail: str
    size: int


def read_log_excerpt(folder: RunsFolder, path: Path) -> LogExcerpt | None:
    """A log's beginning and end; None without a log."""
    file = folder.find_file(path)
    if file is None:
        return None
    with file:
        size = _size(file)
        left_out = max(0, size - _HEAD_BYTES - _TAIL_BYTES)
        head = file.read(_HEAD_BYTES if left_out else size)
        file.seek(size - _TAIL_BYTES if left_out else size)
        return LogExcerpt(
            head=_text(head), left_out=left_out, tail=_text(file.read(_TAIL_BYTES)), size=size
        )


def read_stage_tail(folder: RunsFolder, run: Path, attempt: RunningAttempt) -> str:
    """The last lines of the log of an attempt's running stage."""
    if attempt.stage is None:
        return ""
    return read_tail(folder, run / "attempts" / attempt.folder / log_name(attempt.stage))


def read_tail(folder: RunsFolder, path: Path) -> str:
    """The last lines of a log; empty without one."""
    file = folder.find_file(path)
    if file is None:
        return ""
    with file:
        size = _size(file)
        begin = max(0, size - _LIVE_TAIL)
        file.seek(begin)
        lines = _text(file.read(_LIVE_TAIL)).splitlines()
    # The first line may be incomplete.
    whole = lines[1:] if begin and len(lines) > 1 else lines
    return "\n".join(whole[-_LIVE_LINES:])


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class HighlightedPatch:
    """The shown part of a patch."""

    markup: Markup
    left_out: int  # bytes
    lines: int  # of the shown part


def read_patch(folder: RunsFolder, path: Path) -> HighlightedPatch | None:
    """A patch for a page; None without one."""
    file = folder.find_file(path)
    if file is None:
        return None
    with file:
        content = file.read(_PATCH_BYTES)
        left_out = file.seek(0, 2) - len(content)
    lines = _text(content).split("\n")
    text = "\n".join(printable(line, limit=_LONGEST_LINE, newlines=True) for line in lines)
    return HighlightedPatch(markup=highlight_patch(text), left_out=left_out, lines=len(lines))


def highlight_patch(text: str) -> Markup:
    """A patch's text as markup, escaped by pygments."""
    formatter = HtmlFormatter(nowrap=True, classprefix="hl-")
    return Markup(highlight(text, DiffLexer(stripnl=False), formatter))


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPage:
    """Some steps of a transcript, or why there are none."""

    page: PageSlice[Step] = field(default_factory=PageSlice)
    steps: Sequence[Step] = ()  # of all pages
    problem: str = ""


def read_transcript_page(folder: RunsFolder, attempt: Path, number: int) -> TranscriptPage | None:
    """A page of an attempt's transcript; None without one."""
    file = folder.find_file(attempt / TRAJECTORY_FILE)
    if file is None:
        return None
    with file:
        content = file.read(TRAJECTORY_BYTES + 1)
    try:
        steps = parse_trajectory(content).steps
    except ValueError as error:
        return TranscriptPage(problem=printable(str(error), limit=300))
    return TranscriptPage(page=PageSlice.of(steps, number, size=STEPS_PER_PAGE), steps=steps)


def read_timeline(folder: RunsFolder, attempt: Path) -> Timeline | None:
    """An attempt's timeline; None if it has none, or none that can be read."""
    file = folder.find_file(attempt / TIMELINE_FILE)
    if file is None:
        return None
    with file:
        content = file.read(_TIMELINE_BYTES + 1)
    try:
        return Timeline.model_validate_json(content) if len(content) <= _TIMELINE_BYTES else None
    except ValidationError:
        return None


_PLAIN, _JSON = "text/plain; charset=utf-8", "application/json"

CONTENT_TYPES: Mapping[str, str] = {
    "record.json": _JSON,
    "patch.diff": _PLAIN,
    "patch.raw.diff": _PLAIN,
    "baseline.json": _JSON,
    "final.json": _JSON,
    "events.jsonl": _PLAIN,
    TIMELINE_FILE: _JSON,
    "agent/trajectory.json": _JSON,
    "agent/llm.jsonl": _PLAIN,
    **{log_name(stage): _PLAIN for stage in StageName},
}
_STEP_EVIDENCE = re.compile(r"steps/[A-Za-z0-9][A-Za-z0-9_.-]*/evidence\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFile:
    """An existing file."""

    name: str
    size: int


def list_attempt_files(folder: RunsFolder, attempt: Path) -> list[AttemptFile]:
    """The existing files of an attempt."""
    found = []
    for name in CONTENT_TYPES:
        file = folder.find_file(attempt / name)
        if file is not None:
            with file:
                found.append(AttemptFile(name=name, size=_size(file)))
    return found


def attempt_file(context: PageContext, request: Request) -> Response:
    """One file of an attempt.

    Raises:
        PageNotFoundError: it does not exist.
    """
    name = request.path_params["file"]
    kind = _JSON if _STEP_EVIDENCE.fullmatch(name) else CONTENT_TYPES.get(name)
    if kind is None:
        raise PageNotFoundError(
            f"No attempt has a file {name!r}; there may be: {', '.join(CONTENT_TYPES)}."
        )
    path = context.attempt_folder(request) / name
    return _file_response(context.folder.opened(path), path, kind, request)


def run_file(context: PageContext, request: Request) -> Response:
    """run.json.

    Raises:
        PageNotFoundError: there is no such run.
    """
    path = context.folder.run(request.path_params["run"]) / RUN_FILE
    return _file_response(context.folder.opened(path), path, _JSON, request)


def _file_response(file: BinaryIO, path: Path, kind: str, request: Request) -> Response:
    size = _size(file)
    how = "attachment" if "download" in request.query_params else "inline"
    headers = {
        "Content-Length": str(size),
        "Content-Security-Policy": FILE_CSP,
        "Content-Disposition": f'{how}; filename="{path.name}"',
    }
    return StreamingResponse(_chunks(file, size), media_type=kind, headers=headers)


def _chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    # The file may grow meanwhile, and an answer must not be longer than it announced.
    with file:
        while size and (chunk := file.read(min(size, _CHUNK))):
            size -= len(chunk)
            yield chunk
