"""Checks access to the pages, and sets the security headers of every answer.

It is middleware around the whole application. Pages show agents' texts, so the headers disable
scripts and external requests. The Host header reveals requests by DNS rebinding.
"""

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentbench.view.rendering import render_page

PAGE_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
FILE_CSP: Final = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox"
"""The headers of files that agents may have written."""

TOKEN_PARAMETER: Final = "token"
_METHODS = ("GET", "HEAD")
_STYLE = "/static/view.css"  # also of the page that asks for the token
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HEADERS = {
    "Content-Security-Policy": PAGE_CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class AccessPolicy(Struct, frozen=True, kw_only=True):
    """The conditions for access."""

    host: str  # the address that the server listens on
    port: int
    token: str | None = None  # None: no token is needed

    @property
    def cookie(self) -> str:
        """The cookie's name, with the port, since ports of one host share cookies."""
        return f"agentbench_view_{self.port}"

    def allows_host(self, host: str) -> bool:
        """Whether a request's Host is allowed.

        A server on all addresses has all of this machine's names; numbers cannot be rebound.
        """
        name = _host_name(host)
        if name in _LOOPBACK or name == self.host.lower():
            return True
        own = _ip_address(self.host)
        if own is None or not own.is_unspecified:
            return False
        return _ip_address(name) is not None or name == socket.gethostname().lower()

    def accepts_token(self, token: str) -> bool:
        """Whether a token is right, compared in constant time."""
        assert self.token is not None
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server at this host."""
    address = _ip_address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


class AuthGuard:
    """Middleware that checks the method, the Host and the token, and adds headers."""

    def __init__(self, inside: ASGIApp, guard: AccessPolicy) -> None:
        self._inside = inside
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        if scope["type"] != "http":
            return  # only HTTP is supported

        async def with_headers(message: Message) -> None:
            """Send a message with the security headers."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._inside)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
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
        again = _without_token_parameter(scope, pairs)
        if tokens and self._guard.accepts_token(tokens[0]):
            token = tokens[0]
            answer = RedirectResponse(again, 303)
            answer.set_cookie(self._guard.cookie, token, httponly=True, samesite="strict", path="/")
            return answer
        kind, _, bearer = connection.headers.get("authorization", "").partition(" ")
        cookie_token = connection.cookies.get(self._guard.cookie, "")
        brought = bearer if kind.lower() == "bearer" else cookie_token
        if not tokens and brought and self._guard.accepts_token(brought):
            return None
        page = render_page("token.html", wrong=bool(tokens), again=again)
        return HTMLResponse(page, 401, {"WWW-Authenticate": "Bearer"})


def _without_token_parameter(scope: Scope, pairs: Iterable[tuple[str, str]]) -> str:
    remaining_query = urlencode([pair for pair in pairs if pair[0] != TOKEN_PARAMETER])
    # One slash: two would name another host.
    path = f"/{quote(scope['path'].lstrip('/'))}"
    return f"{path}?{remaining_query}" if remaining_query else path


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower() if "@" not in host else ""
    except ValueError:
        return ""


def _ip_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
