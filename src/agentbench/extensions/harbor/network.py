"""The networks of Harbor's phases: each phase's own policy, or that of its environment."""

from collections.abc import Iterator
from ipaddress import ip_address

from agentbench.core.network import Network, network_text
from agentbench.extensions.harbor.task_toml import (
    HarborEnvironmentTable,
    HarborTaskFile,
    PhaseTable,
)

_WHY = "which is Harbor's default unless the task says otherwise"


def environment_network(form: HarborTaskFile) -> Network:
    """The network of the commands around the agent."""
    return _of_environment(form.environment)


def agent_network(form: HarborTaskFile) -> Network | None:
    """The network of the agent's phase; None: that of its environment."""
    return _own(form.agent)


def verifier_network(form: HarborTaskFile) -> Network:
    """The network of the verifier's phase."""
    own = _own(form.verifier)
    if own is not None:
        return own
    separate = form.verifier.environment if form.verifier.is_separate else None
    return _of_environment(separate or form.environment)


def shares_network(form: HarborTaskFile) -> bool:
    """Whether services are on the agent's localhost, as in Harbor if the network is limited."""
    networks = (environment_network(form), agent_network(form), verifier_network(form))
    return any(each not in {None, True} for each in networks)


def network_faults(form: HarborTaskFile) -> Iterator[tuple[str, str]]:
    """The lists of hosts that Harbor refuses: the field, and why."""
    tables: dict[str, PhaseTable | None] = {
        "environment": form.environment,
        "agent": form.agent,
        "verifier": form.verifier,
        "verifier.environment": form.verifier.environment,
    }
    for name, table in tables.items():
        if table is None:
            continue
        if table.allowed_hosts and table.network_mode != "allowlist":
            yield f"{name}.allowed_hosts", 'needs network_mode = "allowlist"'


def network_notes(form: HarborTaskFile) -> Iterator[str]:
    """Notes for a reader about the networks of an imported task."""
    own = agent_network(form)
    agents = environment_network(form) if own is None else own
    if agents is True:
        yield f"the agent has a public network, {_WHY}: it may fetch the solution"
    elif agents:
        yield f"the agent reaches {network_text(agents)} of the network, through a proxy"
    if verifier_network(form) is True:
        yield f"the script has a public network, {_WHY}"


def _of_environment(table: HarborEnvironmentTable) -> Network:
    own = _own(table)
    return table.allow_internet is not False if own is None else own


def _own(table: PhaseTable) -> Network | None:
    """A table's own policy; None: it has none."""
    if table.network_mode is None:
        return None
    if table.network_mode != "allowlist":
        return table.network_mode == "public"
    hosts: list[str] = []
    for host in table.allowed_hosts or ():
        # The container itself is always reachable.
        try:
            is_own = ip_address(host).is_loopback
        except ValueError:
            is_own = host.strip().lower() == "localhost"
        hosts += [] if is_own else [host]
    return tuple(hosts) or False
