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
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from agentbench.core.access_policy import AccessPolicy
from agentbench.errors import InputError
from agentbench.extensions.view import attempt_files, attempt_page, comparison_pages, run_pages
from agentbench.extensions.view.auth_guard import AuthGuard
from agentbench.extensions.view.queries import BadQueryError
from agentbench.extensions.view.rendering import PageContext, TemplateValues, html_response
from agentbench.extensions.view.run_cache import RunCache
from agentbench.extensions.view.runs_folder import PageNotFoundError, RunsFolder

_STATIC = Path(__file__).with_name("static")
_ATTEMPT = "/runs/{run}/attempts/{task}/{name}"
_SHUTDOWN_TIMEOUT_S = 2  # for running answers
_KEEP_ALIVE_S = 30


def make_app(root: Path, guard: AccessPolicy) -> ASGIApp:
    """The application over a folder of runs."""
    context = PageContext(folder=RunsFolder(root), cache=RunCache())
    pages = (  # /parts: the parts of a page that change while runs are live
        ("/", "runs.html", run_pages.list_values),
        ("/parts", "runs_parts.html", run_pages.list_values),
        ("/leaderboard", "leaderboard.html", comparison_pages.leaderboard_values),
        ("/leaderboard/behaviour", "behaviour_parts.html", comparison_pages.leaderboard_behaviour),
        ("/compare", "compare.html", comparison_pages.compare_values),
        ("/compare/behaviour", "behaviour_parts.html", comparison_pages.compare_behaviour),
        ("/runs/{run}", "run.html", run_pages.run_values),
        ("/runs/{run}/parts", "run_parts.html", run_pages.run_values),
        (_ATTEMPT, "attempt.html", attempt_page.attempt_values),
        (f"{_ATTEMPT}/parts", "attempt_parts.html", attempt_page.attempt_values),
    )
    inside = Starlette(
        routes=[
            *(Route(path, partial(_page, context, template, of)) for path, template, of in pages),
            Route("/runs/{run}/run.json", partial(attempt_files.run_file, context)),
            Route(f"{_ATTEMPT}/files/{{file:path}}", partial(attempt_files.attempt_file, context)),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={
            PageNotFoundError: partial(_error_page, status=404, title="Not found"),
            BadQueryError: partial(_error_page, status=400, title="Invalid filter"),
            InputError: partial(_error_page, status=422, title="This run cannot be read"),
            HTTPException: _http_error_page,
        },
    )
    return AuthGuard(inside, guard)


def _page(
    context: PageContext,
    template: str,
    values_of: Callable[[PageContext, Request], TemplateValues],
    request: Request,
) -> Response:
    return html_response(template, values_of(context, request))


def _error_page(request: Request, error: Exception, *, status: int, title: str) -> Response:
    del request
    return html_response("message.html", {"title": title, "message": str(error)}, status)


def _http_error_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title, message = "Request not possible", error.detail
    if error.status_code == 404:
        title, message = "Not found", f"There is nothing at {request.url.path}."
    return html_response("message.html", {"title": title, "message": message}, error.status_code)


async def serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal."""
    # The socket listens already: an early client waits at it, and is not refused.
    config = uvicorn.Config(
        app,
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
