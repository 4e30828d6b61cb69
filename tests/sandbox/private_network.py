"""A network namespace for an engine of the tests' own, with one cable to this machine.

An engine in the network of this machine would take another one's bridge away.
"""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.patience import HANG_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNetwork:
    """A namespace and the addresses of both ends of its cable."""

    name: str
    host: str  # this machine's, as the namespace sees it
    address: str  # the namespace's, as this machine sees it

    @property
    def enter(self) -> tuple[str, ...]:
        """What to put before a command that is to run in it.

        Not `ip netns exec`, which mounts a fresh /sys without the control groups.
        """
        return ("nsenter", f"--net=/run/netns/{self.name}")


@contextmanager
def private_network() -> Iterator[PrivateNetwork]:
    """One for the length of a block; needs root and `ip`."""
    mark = secrets.token_hex(4)
    low, high = 4 * secrets.randbelow(64), secrets.randbelow(256)
    network = PrivateNetwork(
        name=f"agentbench-{mark}",
        host=f"198.18.{high}.{low + 1}",
        address=f"198.18.{high}.{low + 2}",
    )
    _ip("netns", "add", network.name)
    try:
        _lay_cable(network, f"ab{mark}")
        yield network
    finally:
        _ip("netns", "delete", network.name)  # the cable goes with its end there


def _lay_cable(network: PrivateNetwork, device: str) -> None:
    there = ("-netns", network.name)
    _ip("link", "add", device, "type", "veth", "peer", "name", "cable", "netns", network.name)
    _ip("address", "add", f"{network.host}/30", "dev", device)
    _ip("link", "set", device, "up")
    _ip(*there, "address", "add", f"{network.address}/30", "dev", "cable")
    _ip(*there, "link", "set", "cable", "up")
    _ip(*there, "link", "set", "lo", "up")
    _ip(*there, "route", "add", "default", "via", network.host)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=HANG_SECONDS)
