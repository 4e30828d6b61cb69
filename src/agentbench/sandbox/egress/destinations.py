"""The destination of a request, and whether the list of hosts and its addresses allow it.

Names are resolved here, once, and the connection is made to the address that was checked. So no
name of a listed host leads to this machine, to a private network or to a cloud's metadata service.
"""

import asyncio
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_network

from agentbench.core.network import AllowedHosts, IpAddress, normalized_host, plain_address

_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@/?#%\\\s]+))(?::(?P<port>[0-9]{1,5}))?", re.I
)
_URL = re.compile(r"http://(?P<authority>[^/?#]*)(?P<path>[^#]*)(?:#.*)?", re.I)
_PORT_OF_HTTP = 80
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
# They lead nowhere on the internet, but some machines reach mirrors of public hosts by them.
_DOCUMENTATION = tuple(
    map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)
_RESOLVED_WITHIN = 20.0  # seconds
_ANY_PORT = 9  # nothing is sent to it


class WrongTargetError(ValueError):
    """A target that is not a host with a port; the message says what it is."""


class RefusedError(Exception):  # an answer to a request, not a program error
    """A destination that is not allowed; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A normalized host name or address, and a port."""

    host: str
    port: int

    @property
    def address(self) -> IpAddress | None:
        """The address; None: the host is a name."""
        try:
            return plain_address(self.host)
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_authority(text: str, default_port: int | None = None) -> Destination:
    """The destination in the target of a CONNECT request, or in a URL.

    Raises:
        WrongTargetError: it is not one.
    """
    found = _AUTHORITY.fullmatch(text)
    port = int(found["port"] or default_port or 0) if found is not None else 0
    if found is None or not 0 < port < 1 << 16:
        raise WrongTargetError("the target is not HOST:PORT")
    try:
        host = normalized_host(found["v6"] or found["name"])
        if found["v6"]:
            IPv6Address(found["v6"])
    except ValueError:
        raise WrongTargetError("the target's host is neither a name nor an address") from None
    return Destination(host=host, port=port)


def parse_url(url: str) -> tuple[Destination, str]:
    """The destination of an http URL, and its path with its query.

    Raises:
        WrongTargetError: it is not one.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise WrongTargetError("this is a proxy: give an http:// URL, or CONNECT HOST:PORT")
    path = found["path"]
    destination = parse_authority(found["authority"], _PORT_OF_HTTP)
    return destination, path if path.startswith("/") else f"/{path}"


async def resolved(
    destination: Destination, hosts: AllowedHosts, *, elsewhere: bool = False
) -> tuple[str, ...]:
    """The addresses of an allowed destination.

    Args:
        destination: The destination.
        hosts: The list of hosts.
        elsewhere: Whether another proxy resolves names that this machine cannot.

    Raises:
        RefusedError: it is not allowed.
        OSError: the name has no address.
    """
    address = destination.address
    if address is not None:
        if not _is_allowed(address, hosts, by_name=False):
            raise RefusedError(f"{address} is not in the task's list of hosts")
        return (str(address),)
    if not hosts.has_name(destination.host):
        raise RefusedError(f"{destination.host} is not in the task's list of hosts")
    try:
        found = await _addresses_of(destination)
    except socket.gaierror:
        if elsewhere:
            return ()
        raise
    allowed = [str(each) for each in found if _is_allowed(each, hosts, by_name=True)]
    if not allowed:
        raise RefusedError(
            f"{destination.host} has the address {found[0]}, which is not a public address; "
            "list this address in the task, too"
        )
    return tuple(allowed)


async def _addresses_of(destination: Destination) -> list[IpAddress]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_RESOLVED_WITHIN):
            found = await loop.getaddrinfo(
                destination.host, destination.port, type=socket.SOCK_STREAM
            )
    except UnicodeError:  # of the codec for names
        raise socket.gaierror(socket.EAI_NONAME, "not a name") from None
    return [plain_address(str(each[4][0]).partition("%")[0]) for each in found]


def _is_allowed(address: IpAddress, hosts: AllowedHosts, *, by_name: bool) -> bool:
    if hosts.has_name(str(address)):
        return True
    is_near = address.is_loopback or address.is_link_local or address.is_unspecified
    if is_near or address.is_multicast or _is_own(address):
        return False
    return hosts.has_in_range(address) or (by_name and _is_of_the_internet(address))


def _is_of_the_internet(address: IpAddress) -> bool:
    return any(address in each for each in _DOCUMENTATION) or all(
        each.is_global for each in (address, *_embedded(address))
    )


def _embedded(address: IpAddress) -> Iterator[IPv4Address]:
    """The IPv4 addresses that gateways reach for an IPv6 address."""
    if isinstance(address, IPv6Address):
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
        if any(address in each for each in _NAT64):
            yield IPv4Address(int(address) & 0xFFFFFFFF)


def _is_own(address: IpAddress) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), _ANY_PORT))
        except OSError:  # it cannot be reached
            return False
        return plain_address(str(probe.getsockname()[0])) == address
