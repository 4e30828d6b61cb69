"""The networks of a sandbox in its stages, and how to open it with them."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from agentbench.core.network import Network
from agentbench.errors import UnavailableError
from agentbench.sandbox.interface import (
    EngineProvider,
    OpenSandbox,
    Promise,
    Sandbox,
    SandboxProvider,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """The first network of a sandbox, and its later networks."""

    first: Network = False
    later: tuple[Network, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether a public network is added or removed later."""
        return any((each is True) != (self.first is True) for each in self.later)

    @property
    def has_hosts(self) -> bool:
        """Whether one of them is a list of hosts."""
        return not all(isinstance(each, bool) for each in (self.first, *self.later))


NO_NETWORK = NetworkPlan()
"""The plan of most sandboxes."""


def check_networks(setup: Network, later: Iterable[Network], provider: SandboxProvider) -> None:
    """Check that a back end can limit commands to the networks that a task asks for.

    Args:
        setup: The network of set-up.
        later: The networks of stages with the agent or its work.
        provider: The back end.

    Raises:
        UnavailableError: it cannot.
    """
    networks, fault = (setup, *later), ""
    if Promise.NO_NETWORK not in provider.promises and not all(
        isinstance(each, bool) for each in networks
    ):
        fault = "cannot keep commands to a list of hosts"
    elif True in networks[1:] and not isinstance(provider, EngineProvider):
        fault = "would give the agent the network of this machine, with its loopback interface"
    if fault:
        raise UnavailableError(f"{provider.name} {fault}: use a container engine, --sandbox docker")


def open_with_network(
    opened: OpenSandbox, plan: NetworkPlan, *, lasting: bool = False
) -> AbstractContextManager[Sandbox]:
    """Open a sandbox with its first network.

    Args:
        opened: Opens the sandbox, with a network only if it is a public one.
        plan: Its networks.
        lasting: Whether its processes continue after their command.

    Raises:
        SandboxError: the sandbox cannot be opened, or has no Python for the relay.
    """
    if not plan.has_hosts:
        return opened(())
    from agentbench.sandbox.egress.proxied_sandbox import open_proxied  # imports asyncio

    return open_proxied(opened, plan.first, lasting=lasting)
