"""Parts of logs: their beginning and their end, however long they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agentbench.view.places import NotThereError, RunsFolder
from agentbench.view.under_way import UnderWay

_HEAD, _TAIL = 4_096, 12_288  # bytes that a page shows of a log
_LIVE_TAIL = 2_048  # of one that is being written
_LIVE_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LogText:
    """What is shown of a log."""

    head: str
    left_out: int  # bytes between the two
    tail: str
    size: int


def read_log(folder: RunsFolder, path: Path) -> LogText | None:
    """A log's beginning and end; None where there is no log."""
    try:
        file = folder.opened(path)
    except NotThereError:
        return None
    with file:
        size = _size(file)
        if size <= _HEAD + _TAIL:
            return LogText(head=_text(file.read(_HEAD + _TAIL)), left_out=0, tail="", size=size)
        head = file.read(_HEAD)
        file.seek(size - _TAIL)
        tail = file.read(_TAIL)
    return LogText(head=_text(head), left_out=size - _HEAD - _TAIL, tail=_text(tail), size=size)


def tail_of_stage(folder: RunsFolder, run: Path, one: UnderWay) -> str:
    """The last lines of the log that an attempt's stage writes now."""
    if one.stage is None:
        return ""
    return read_tail(folder, run / "attempts" / one.task / one.name / log_name(one.stage))


def read_tail(folder: RunsFolder, path: Path) -> str:
    """The last lines of a log; nothing where there is none."""
    try:
        file = folder.opened(path)
    except NotThereError:
        return ""
    with file:
        size = _size(file)
        begin = max(0, size - _LIVE_TAIL)
        file.seek(begin)
        lines = _text(file.read(_LIVE_TAIL)).splitlines()
    # The first one may be the end of another.
    whole = lines[1:] if begin and len(lines) > 1 else lines
    return "\n".join(whole[-_LIVE_LINES:])


def log_name(stage: str) -> str:
    """Where a stage's log is, below its attempt's folder."""
    return f"stages/{stage}.log"


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
