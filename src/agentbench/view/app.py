"""The application: addresses to pages, and what goes wrong to a page that says so."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from agentbench.errors import InputError
from agentbench.view.attempt_page import attempt_page, attempt_parts
from agentbench.view.compare_page import compare_page
from agentbench.view.door import Door, Guard
from agentbench.view.files import attempt_file, run_file
from agentbench.view.places import NotThereError, RunsFolder
from agentbench.view.query import BadQueryError
from agentbench.view.room import Room, html
from agentbench.view.run_page import run_page, run_parts
from agentbench.view.runs_page import runs_page, runs_parts
from agentbench.view.shelf import Shelf

_STATIC = Path(__file__).with_name("static")
_ATTEMPT = "/runs/{run}/attempts/{task}/{name}"


def make_app(root: Path, guard: Guard, *, processes: int = 1) -> ASGIApp:
    """The application over a folder of runs.

    Args:
        root: The folder.
        guard: Whom it answers.
        processes: How many may read a very large run.
    """
    room = Room(folder=RunsFolder(root), shelf=Shelf(processes=processes))
    inside = Starlette(
        routes=_routes(room),
        exception_handlers={
            NotThereError: partial(_said, status=404, title="Not found"),
            BadQueryError: partial(_said, status=400, title="That is not understood"),
            InputError: partial(_said, status=422, title="This run cannot be read"),
            HTTPException: _refused,
        },
    )
    return Door(inside, guard)


def _routes(room: Room) -> list[BaseRoute]:
    pages: list[tuple[str, Callable[[Room, Request], Response]]] = [
        ("/", runs_page),
        ("/parts", runs_parts),
        ("/compare", compare_page),
        ("/runs/{run}", run_page),
        ("/runs/{run}/parts", run_parts),
        ("/runs/{run}/run.json", run_file),
        (_ATTEMPT, attempt_page),
        (f"{_ATTEMPT}/parts", attempt_parts),
        (f"{_ATTEMPT}/files/{{file:path}}", attempt_file),
    ]
    routes: list[BaseRoute] = [Route(path, partial(made, room)) for path, made in pages]
    return [*routes, Mount("/static", StaticFiles(directory=_STATIC))]


def _said(request: Request, error: Exception, *, status: int, title: str) -> Response:
    del request
    return html("message.html", {"title": title, "message": str(error)}, status)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        message = f"There is nothing at {request.url.path}."
        return html("message.html", {"title": "Not found", "message": message}, 404)
    return html(
        "message.html",
        {"title": "That is not possible", "message": error.detail},
        error.status_code,
    )
