"""The web application: its routes, its error pages, and its server."""

import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from agentbench.errors import InputError
from agentbench.view.attempt_page import attempt_page, attempt_parts
from agentbench.view.auth_guard import AccessPolicy, AuthGuard
from agentbench.view.downloads import attempt_file, run_file
from agentbench.view.queries import BadQueryError
from agentbench.view.rendering import PageContext, html_response
from agentbench.view.run_cache import RunCache
from agentbench.view.run_pages import compare_page, run_page, run_parts, runs_page, runs_parts
from agentbench.view.runs_folder import PageNotFoundError, RunsFolder

_STATIC = Path(__file__).with_name("static")
_ATTEMPT = "/runs/{run}/attempts/{task}/{name}"


def make_app(root: Path, guard: AccessPolicy, *, processes: int = 1) -> ASGIApp:
    """The application over a folder of runs.

    Args:
        root: The folder.
        guard: The access policy.
        processes: The number of processes for reading a very large run.
    """
    room = PageContext(folder=RunsFolder(root), cache=RunCache(processes=processes))
    inside = Starlette(
        routes=_routes(room),
        exception_handlers={
            PageNotFoundError: partial(_error_page, status=404, title="Not found"),
            BadQueryError: partial(_error_page, status=400, title="Invalid filter"),
            InputError: partial(_error_page, status=422, title="This run cannot be read"),
            HTTPException: _http_error_page,
        },
    )
    return AuthGuard(inside, guard)


def _routes(room: PageContext) -> list[BaseRoute]:
    pages: list[tuple[str, Callable[[PageContext, Request], Response]]] = [
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


def _error_page(request: Request, error: Exception, *, status: int, title: str) -> Response:
    del request
    return html_response("message.html", {"title": title, "message": str(error)}, status)


def _http_error_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        message = f"There is nothing at {request.url.path}."
        return html_response("message.html", {"title": "Not found", "message": message}, 404)
    return html_response(
        "message.html",
        {"title": "Request not possible", "message": error.detail},
        error.status_code,
    )


_SHUTDOWN_TIMEOUT_S = 2  # seconds for running answers
_KEEP_ALIVE_S = 30  # seconds


async def serve(
    root: Path,
    guard: AccessPolicy,
    listener: socket.socket,
    announce: Callable[[], None],
    *,
    processes: int = 1,
) -> None:
    """Serve until a signal.

    Args:
        root: The folder of runs.
        guard: The access policy.
        listener: A listening socket, so that early clients are not refused.
        announce: Is called when the server is ready.
        processes: The number of processes for reading a very large run.
    """
    config = uvicorn.Config(
        make_app(root, guard, processes=processes),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    announce()
    await uvicorn.Server(config).serve(sockets=[listener])
