"""Access to our servers: the allowed Host headers, and the token."""

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """The conditions for access."""

    host: str  # the address that the server listens on
    port: int
    token: str | None = None  # None: no token is needed

    @property
    def cookie(self) -> str:
        """The cookie's name, with the port, since ports of one host share cookies."""
        return f"agentbench_view_{self.port}"

    def allows_host(self, host: str) -> bool:
        """Whether a request's Host is allowed; a wrong one reveals DNS rebinding.

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


def bearer_token(authorization: str) -> str | None:
    """The token in an Authorization header; None: it has another kind of credentials."""
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server at this host."""
    address = _ip_address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


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
