"""The files of a run as they are: as text or JSON that no browser takes for anything else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentbench.scoring.stage_name import StageName
from agentbench.view.door import FILES_POLICY
from agentbench.view.log_text import log_name
from agentbench.view.places import NotThereError, RunsFolder
from agentbench.view.room import Room

_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
_PIECE = 64 * 1024

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "record.json": _JSON,
        "patch.diff": _TEXT,
        "patch.raw.diff": _TEXT,
        "baseline.json": _JSON,
        "final.json": _JSON,
        "events.jsonl": _TEXT,
        "agent/trajectory.json": _JSON,
        "agent/llm.jsonl": _TEXT,
        **{log_name(stage): _TEXT for stage in StageName},
    }
)
"""The files of an attempt that can be had, and what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that is there."""

    name: str
    size: int


def files_of(folder: RunsFolder, attempt: Path) -> list[FoundFile]:
    """The files that an attempt has left so far."""
    found = []
    for name in KINDS:
        try:
            with folder.opened(attempt / name) as file:
                found.append(FoundFile(name=name, size=file.seek(0, 2)))
        except NotThereError:
            continue
    return found


def attempt_file(room: Room, request: Request) -> Response:
    """One file of an attempt.

    Raises:
        NotThereError: there is none of that name.
    """
    name = request.path_params["file"]
    if name not in KINDS:
        raise NotThereError(f"No attempt has a file {name!r}; there may be: {', '.join(KINDS)}.")
    path = room.attempt_folder(request) / name
    return _answer(room.folder.opened(path), path, KINDS[name], request)


def run_file(room: Room, request: Request) -> Response:
    """run.json.

    Raises:
        NotThereError: there is no such run.
    """
    path = room.folder.run(request.path_params["run"]) / "run.json"
    return _answer(room.folder.opened(path), path, _JSON, request)


def _answer(file: BinaryIO, path: Path, kind: str, request: Request) -> Response:
    size = file.seek(0, 2)
    file.seek(0)
    how = "attachment" if "download" in request.query_params else "inline"
    headers = {
        "Content-Length": str(size),
        "Content-Security-Policy": FILES_POLICY,
        "Content-Disposition": f'{how}; filename="{path.name}"',
    }
    return StreamingResponse(_pieces(file, size), media_type=kind, headers=headers)


def _pieces(file: BinaryIO, left: int) -> Iterator[bytes]:
    """So much of a file as was promised, though it may grow meanwhile."""
    with file:
        while left and (piece := file.read(min(left, _PIECE))):
            left -= len(piece)
            yield piece
