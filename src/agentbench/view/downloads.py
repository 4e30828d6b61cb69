"""Serves the files of a run unchanged, as plain text or JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentbench.scoring.taxonomy import StageName
from agentbench.view.attempt_files import log_name
from agentbench.view.auth_guard import FILE_CSP
from agentbench.view.rendering import PageContext
from agentbench.view.runs_folder import PageNotFoundError, RunsFolder

_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
_CHUNK = 64 * 1024

CONTENT_TYPES: Mapping[str, str] = MappingProxyType(
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
"""The downloadable files of an attempt, and their descriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFile:
    """An existing file."""

    name: str
    size: int


def list_attempt_files(folder: RunsFolder, attempt: Path) -> list[AttemptFile]:
    """The existing files of an attempt."""
    found = []
    for name in CONTENT_TYPES:
        try:
            with folder.opened(attempt / name) as file:
                found.append(AttemptFile(name=name, size=file.seek(0, 2)))
        except PageNotFoundError:
            continue
    return found


def attempt_file(room: PageContext, request: Request) -> Response:
    """One file of an attempt.

    Raises:
        PageNotFoundError: it does not exist.
    """
    name = request.path_params["file"]
    if name not in CONTENT_TYPES:
        raise PageNotFoundError(
            f"No attempt has a file {name!r}; there may be: {', '.join(CONTENT_TYPES)}."
        )
    path = room.attempt_folder(request) / name
    return _file_response(room.folder.opened(path), path, CONTENT_TYPES[name], request)


def run_file(room: PageContext, request: Request) -> Response:
    """run.json.

    Raises:
        PageNotFoundError: there is no such run.
    """
    path = room.folder.run(request.path_params["run"]) / "run.json"
    return _file_response(room.folder.opened(path), path, _JSON, request)


def _file_response(file: BinaryIO, path: Path, kind: str, request: Request) -> Response:
    size = file.seek(0, 2)
    file.seek(0)
    how = "attachment" if "download" in request.query_params else "inline"
    headers = {
        "Content-Length": str(size),
        "Content-Security-Policy": FILE_CSP,
        "Content-Disposition": f'{how}; filename="{path.name}"',
    }
    return StreamingResponse(_chunks(file, size), media_type=kind, headers=headers)


def _chunks(file: BinaryIO, left: int) -> Iterator[bytes]:
    """The announced number of bytes of a file, which may grow meanwhile."""
    with file:
        while left and (piece := file.read(min(left, _CHUNK))):
            left -= len(piece)
            yield piece
