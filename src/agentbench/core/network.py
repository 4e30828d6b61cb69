"""How far commands reach a network: not at all, some hosts, or everything."""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

IpAddress = IPv4Address | IPv6Address

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# For libc, a last label of this form makes an address of the whole name: 2130706433 is 127.0.0.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_NAME = 253  # characters
_KINDS = "a host name, *.NAME, an IP address or a range of addresses, without URL, port or path"


def normalized_host(text: str) -> str:
    """A host name in lower case without its last dot, or an IP address in its usual form.

    Raises:
        ValueError: it is neither.
    """
    if "%" not in text:  # "%" begins the zone of an IPv6 address
        with suppress(ValueError):
            return str(plain_address(text))
    return _host_name(text)


def plain_address(text: str) -> IpAddress:
    """An address; an IPv6 address that maps an IPv4 address is replaced by the latter.

    Raises:
        ValueError: it is not an address.
    """
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


def _host_name(text: str) -> str:
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("is neither a host name nor an IP address")
    if _NUMBER.fullmatch(labels[-1]):  # such as 2130706433 or 0x7f.1
        raise ValueError("is a number; write an IP address as four numbers with dots")
    return name


def _allowed_host(text: str) -> str:
    name = text.strip()
    try:
        if "/" in name:
            return str(ip_network(name))
        if not name.startswith("*."):
            return normalized_host(name)
        return f"*.{_host_name(name[2:])}"
    except ValueError:
        raise ValueError(f"is not an entry of a list of hosts; give {_KINDS}") from None


def _kind_of(value: object) -> str | None:
    if isinstance(value, bool):
        return "switch"
    return "hosts" if isinstance(value, (list, tuple)) else None


AllowedHost = Annotated[str, AfterValidator(_allowed_host)]
Network = Annotated[
    Annotated[bool, Field(strict=True), Tag("switch")]
    | Annotated[
        tuple[AllowedHost, ...], AfterValidator(lambda found: found or False), Tag("hosts")
    ],
    Discriminator(
        _kind_of,
        custom_error_type="network",
        custom_error_message="is neither true nor false nor a list of hosts",
    ),
]
"""False: none. True: a public one. A list: only these hosts are reachable; empty: false."""


def network_text(network: Network) -> str:
    """A network in words."""
    if isinstance(network, bool):
        return "public" if network else "none"
    return f"only {', '.join(network)}"


class AllowedHosts:
    """The entries of a list of hosts; `*.example.org` means every host below example.org."""

    def __init__(self, entries: Collection[str]) -> None:
        self._names = {each for each in entries if "/" not in each}
        self._ranges = [ip_network(each) for each in entries if "/" in each]

    def has_name(self, host: str) -> bool:
        """Whether a normalized host name, or an address, is listed itself."""
        parents = host.split(".")[1:]
        wildcards = (f"*.{'.'.join(parents[start:])}" for start in range(len(parents)))
        return host in self._names or any(each in self._names for each in wildcards)

    def has_in_range(self, address: IpAddress) -> bool:
        """Whether an address is in a listed range."""
        return any(address in each for each in self._ranges)
