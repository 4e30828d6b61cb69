"""The list of runs, the newest first."""

from starlette.requests import Request
from starlette.responses import Response

from agentbench.view.query import whole_number
from agentbench.view.room import Room, html

_PAGE = 50  # runs


def runs_page(room: Room, request: Request) -> Response:
    """The whole page."""
    return html("runs.html", _values(room, request))


def runs_parts(room: Room, request: Request) -> Response:
    """What of it changes while runs go on."""
    return html("runs_parts.html", _values(room, request))


def _values(room: Room, request: Request) -> dict[str, object]:
    folders = sorted(room.folder.runs(), key=lambda folder: folder.name, reverse=True)
    folders.sort(key=room.shelf.began, reverse=True)
    pages = max(1, -(-len(folders) // _PAGE))
    number = min(whole_number("page", request.query_params, default=1), pages)
    glances = [room.shelf.glance(folder) for folder in folders[(number - 1) * _PAGE :][:_PAGE]]
    return {
        "folder": str(room.folder.root),
        "glances": glances,
        "total": len(folders),
        "number": number,
        "pages": pages,
        "query": f"?page={number}" if number > 1 else "",
        "is_live": any(glance.is_live for glance in glances),
    }
