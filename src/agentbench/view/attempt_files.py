"""Reads an attempt's files for its page: parts of logs, the patch, the agent's steps."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from markupsafe import Markup
from pydantic import ValidationError
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import DiffLexer

from agentbench.core.display_text import printable
from agentbench.models.atif import Step, Trajectory
from agentbench.view.queries import PageSlice
from agentbench.view.running_attempts import RunningAttempt
from agentbench.view.runs_folder import PageNotFoundError, RunsFolder

_HEAD_BYTES, _TAIL_BYTES = 4_096, 12_288  # bytes of a log
_LIVE_TAIL = 2_048  # of a growing log
_LIVE_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExcerpt:
    """The shown parts of a log."""

    head: str
    left_out: int  # bytes between the two
    tail: str
    size: int


def read_log_excerpt(folder: RunsFolder, path: Path) -> LogExcerpt | None:
    """A log's beginning and end; None without a log."""
    try:
        file = folder.opened(path)
    except PageNotFoundError:
        return None
    with file:
        size = _size(file)
        if size <= _HEAD_BYTES + _TAIL_BYTES:
            return LogExcerpt(
                head=_text(file.read(_HEAD_BYTES + _TAIL_BYTES)), left_out=0, tail="", size=size
            )
        head = file.read(_HEAD_BYTES)
        file.seek(size - _TAIL_BYTES)
        tail = file.read(_TAIL_BYTES)
    return LogExcerpt(
        head=_text(head), left_out=size - _HEAD_BYTES - _TAIL_BYTES, tail=_text(tail), size=size
    )


def read_stage_tail(folder: RunsFolder, run: Path, one: RunningAttempt) -> str:
    """The last lines of the log of an attempt's running stage."""
    if one.stage is None:
        return ""
    return read_tail(folder, run / "attempts" / one.task / one.name / log_name(one.stage))


def read_tail(folder: RunsFolder, path: Path) -> str:
    """The last lines of a log; empty without one."""
    try:
        file = folder.opened(path)
    except PageNotFoundError:
        return ""
    with file:
        size = _size(file)
        begin = max(0, size - _LIVE_TAIL)
        file.seek(begin)
        lines = _text(file.read(_LIVE_TAIL)).splitlines()
    # The first line may be incomplete.
    whole = lines[1:] if begin and len(lines) > 1 else lines
    return "\n".join(whole[-_LIVE_LINES:])


def log_name(stage: str) -> str:
    """The path of a stage's log in its attempt's folder."""
    return f"stages/{stage}.log"


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


_PATCH_BYTES = 256 * 1024  # bytes of a patch
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HighlightedPatch:
    """The shown part of a patch."""

    markup: Markup
    left_out: int  # bytes


def read_patch(folder: RunsFolder, path: Path) -> HighlightedPatch | None:
    """A patch for a page; None without one."""
    try:
        file = folder.opened(path)
    except PageNotFoundError:
        return None
    with file:
        content = file.read(_PATCH_BYTES)
        left_out = file.seek(0, 2) - len(content)
    lines = content.decode("utf-8", "replace").split("\n")
    text = "\n".join(printable(line, limit=_LONGEST_LINE, newlines=True) for line in lines)
    return HighlightedPatch(markup=highlight_patch(text), left_out=left_out)


def highlight_patch(text: str) -> Markup:
    """A patch's text as markup, escaped by pygments."""
    formatter = HtmlFormatter(nowrap=True, classprefix="hl-")
    return Markup(highlight(text, DiffLexer(stripnl=False), formatter))


STEPS_PER_PAGE = 50
"""On one page."""

_TRAJECTORY_FILE = Path("agent", "trajectory.json")
_TRAJECTORY_BYTES = 50 * 1024 * 1024  # bytes
_MAX_CHARACTERS = 20_000  # characters of one text


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallView:
    """A tool call with its results."""

    line: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step for a page."""

    step: Step
    message: str
    reasoning: str
    calls: tuple[ToolCallView, ...]
    results: tuple[str, ...]  # without a call in this step


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPage:
    """Some steps of a transcript, or why there are none."""

    steps: tuple[StepView, ...] = ()
    total: int = 0
    number: int = 1
    count: int = 1
    problem: str = ""


def read_transcript_page(folder: RunsFolder, attempt: Path, number: int) -> TranscriptPage | None:
    """A page of an attempt's transcript; None without one."""
    try:
        file = folder.opened(attempt / _TRAJECTORY_FILE)
    except PageNotFoundError:
        return None
    with file:
        content = file.read(_TRAJECTORY_BYTES + 1)
    if len(content) > _TRAJECTORY_BYTES:
        return TranscriptPage(problem=f"it is larger than {_TRAJECTORY_BYTES} bytes")
    try:
        told = Trajectory.model_validate_json(content)
    except (ValueError, ValidationError) as error:
        return TranscriptPage(problem=printable(str(error), limit=300))
    page = PageSlice.of(told.steps, number, size=STEPS_PER_PAGE)
    return TranscriptPage(
        steps=tuple(map(_step_view, page.items)),
        total=len(told.steps),
        number=page.number,
        count=page.count,
    )


def _step_view(step: Step) -> StepView:
    results = step.observation.results if step.observation else ()
    calls = step.tool_calls or ()
    ids = {call.tool_call_id for call in calls}
    return StepView(
        step=step,
        message=_cut(step.message),
        reasoning=_cut(step.reasoning_content or ""),
        calls=tuple(
            ToolCallView(
                line=_call_line(call.function_name, call.arguments),
                arguments=tuple(
                    (name, _cut(value if isinstance(value, str) else repr(value)))
                    for name, value in call.arguments.items()
                ),
                results=tuple(
                    _cut(each.content)
                    for each in results
                    if each.source_call_id == call.tool_call_id
                ),
            )
            for call in calls
        ),
        results=tuple(_cut(each.content) for each in results if each.source_call_id not in ids),
    )


def _call_line(name: str, arguments: object) -> str:
    assert isinstance(arguments, dict)
    told = ", ".join(
        f"{key}={value!r:.80}" if isinstance(value, str) else f"{key}={value!r}"
        for key, value in list(arguments.items())[:6]
    )
    return printable(f"{name}({told})", limit=160)


def _cut(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}\n… {len(text) - _MAX_CHARACTERS} more characters"
