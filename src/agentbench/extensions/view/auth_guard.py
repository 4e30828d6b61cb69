"""Checks access to the pages, and sets the security headers of every answer.

It is middleware around the whole application. Pages show agents' texts, so the headers disable
scripts and external requests. The Host header reveals requests by DNS rebinding.
"""

from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentbench.core.access_policy import AccessPolicy, bearer_token
from agentbench.extensions.view.rendering import render_page

PAGE_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# An agent may have written the file, so nothing in it may run, not even with this page's rights.
FILE_CSP: Final = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox"
TOKEN_PARAMETER: Final = "token"
_METHODS = ("GET", "HEAD")
_STYLE = "/static/view.css"  # also of the page that asks for the token
_HEADERS = {
    "Content-Security-Policy": PAGE_CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class AuthGuard:
    """Middleware that checks the method, the Host and the token, and adds headers."""

    def __init__(self, inside: ASGIApp, guard: AccessPolicy) -> None:
        self._inside = inside
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # only HTTP is supported

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        # Around the whole application, so that no path and no refusal can be left out.
        refusal = self._refusal(scope)
        await (refusal or self._inside)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        # A page of another site can reach this server by DNS rebinding, but keeps its own name.
        if not self._guard.allows_host(Headers(scope=scope).get("host", "")):
            message = (
                "This server does not accept that host name: see --host in `agentbench view "
                "--help`."
            )
            return PlainTextResponse(f"{message}\n", 421)
        if scope["method"] not in _METHODS:
            message = "Nothing can be changed here.\n"
            return PlainTextResponse(message, 405, {"Allow": ", ".join(_METHODS)})
        if self._guard.token is None or scope["path"] == _STYLE:
            return None
        return self._check_token(scope)

    def _check_token(self, scope: Scope) -> Response | None:
        """The answer without a valid cookie: sets it for a right token, else asks for one."""
        connection = HTTPConnection(scope)
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in pairs if name == TOKEN_PARAMETER]
        remaining_query = urlencode([pair for pair in pairs if pair[0] != TOKEN_PARAMETER])
        # One slash: two would name another host.
        path = f"/{quote(scope['path'].lstrip('/'))}"
        again = f"{path}?{remaining_query}" if remaining_query else path
        # The redirect takes the token out of the address, and so out of the browser's history.
        if tokens and self._guard.accepts_token(tokens[0]):
            token = tokens[0]
            answer = RedirectResponse(again, 303)
            answer.set_cookie(self._guard.cookie, token, httponly=True, samesite="strict", path="/")
            return answer
        bearer = bearer_token(connection.headers.get("authorization", ""))
        brought = connection.cookies.get(self._guard.cookie, "") if bearer is None else bearer
        if not tokens and brought and self._guard.accepts_token(brought):
            return None
        page = render_page("token.html", wrong=bool(tokens), again=again)
        return HTMLResponse(page, 401, {"WWW-Authenticate": "Bearer"})
