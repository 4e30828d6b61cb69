"""The server over streamable HTTP: only on this machine by default, and only with a token."""

import hmac
import ipaddress
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import uvicorn
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from agentbench.errors import UsageError

PATH = "/mcp"  # the path of the server
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SHUTDOWN_SECONDS = 2  # seconds for running answers
_BACKLOG = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAddress:
    """The address to listen on, and the token that clients need."""

    host: str
    port: int  # 0: any free port
    token: str


async def serve_http(
    server: Server[object], address: HttpAddress, announce: Callable[[str], None]
) -> None:
    """Serve clients until a signal; `announce` gets the URL. UsageError: the address is taken.

    Raises:
        UsageError: the address is not available.
    """
    with closing(_listen(address)) as listener:
        port = listener.getsockname()[1]
        app = _app(server, address, port)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=_SHUTDOWN_SECONDS
        )
        announce(f"http://{_host_in_url(address.host)}:{port}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


def _app(server: Server[object], address: HttpAddress, port: int) -> Callable[..., object]:
    """The application: Host and Origin are checked against DNS rebinding, then the token."""
    hosts = [f"{host}:{port}" for host in dict.fromkeys((*_LOOPBACK, _host_in_url(address.host)))]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
        # The SDK requires an issuer; the server names itself.
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(f"http://{_host_in_url(address.host)}:{port}"),
            resource_server_url=None,
        ),
        token_verifier=_SingleTokenVerifier(address.token),
    )


class _SingleTokenVerifier(TokenVerifier):
    """Accepts only the token that the server was started with."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Compare in constant time."""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        return AccessToken(token=token, client_id="agentbench", scopes=[])


def _listen(address: HttpAddress) -> socket.socket:
    try:
        (family, *_, place), *_ = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )
        return socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError as fault:
        raise UsageError(
            f"cannot listen on {address.host}:{address.port}: {fault.strerror or fault}"
        ) from fault


def _host_in_url(host: str) -> str:
    """A host in the form of URLs."""
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
