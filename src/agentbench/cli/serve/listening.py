"""The address that a server listens on, and the token of its clients."""

import ipaddress
import os
import re
import secrets
import socket

from agentbench.core.access_policy import AccessPolicy, is_loopback
from agentbench.errors import UsageError

# Characters that an address and a cookie need not quote.
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
_TOKEN_BYTES = 24
_BACKLOG = 128


def required_token(host: str, variable: str) -> str | None:
    """The token in an environment variable; else a random one, or None on loopback.

    Raises:
        UsageError: the token has characters that an address would have to quote.
    """
    configured_token = os.environ.get(variable)
    if configured_token:
        if _TOKEN.fullmatch(configured_token) is None:
            raise UsageError(f"{variable}: expected only letters, digits and . _ ~ -")
        return configured_token
    return None if is_loopback(host) else secrets.token_urlsafe(_TOKEN_BYTES)


def access_policy(host: str, listener: socket.socket, token: str | None) -> AccessPolicy:
    """The policy of a server that listens there."""
    return AccessPolicy(host=host, port=listener.getsockname()[1], token=token)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        UsageError: it is not possible to listen there.
    """
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as fault:
        reason = str(getattr(fault, "strerror", None) or fault).partition(" (while")[0]
        raise UsageError(
            f"cannot listen on {host}:{port}: {reason}; choose another --port or --host"
        ) from fault


def host_in_url(host: str) -> str:
    """A host as written in a URL; this machine's name if it stands for all its addresses."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if address.version == 6 else host
