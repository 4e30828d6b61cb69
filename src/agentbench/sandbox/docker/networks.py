"""The networks of containers: a public one, and one that services share with their sandbox."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from agentbench.core.network import AllowedHosts, Network
from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine, EngineProduct
from agentbench.sandbox.ownership import KIND

JsonTable = dict[str, JsonValue]

QUICK_DNS = ("ndots:0", "timeout:1", "attempts:1")
"""Options of containers without a public network: resolving a public name fails after a second."""

NO_DNS = "192.0.2.1"  # a documentation address: no request leaves the engine's machine

ENGINES_OWN = "bridge"
"""The network that every engine has."""

_NAME = "agentbench-public"
_APART = {"com.docker.network.bridge.enable_icc": "false"}  # no traffic between its containers
_MTU = "com.docker.network.driver.mtu"


def public_network(engine: Engine) -> str:
    """The name of the network; it is created the first time, and stays.

    In Podman it is the engine's own network, where sandboxes reach each other.
    """
    if engine.facts.product is EngineProduct.PODMAN:
        return ENGINES_OWN
    if not _exists(engine):
        options = {**packet_size(engine), **_APART}
        try:
            with engine.api("create a network for sandboxes") as api:
                labels = {KIND: "network"}
                api.create_network(_NAME, options=options, labels=labels, check_duplicate=True)
        except SandboxError:
            if not _exists(engine):  # no other process has created it meanwhile
                raise
    return _NAME


def packet_size(engine: Engine) -> Mapping[str, str]:
    """The engine's own packet size, as an option; a larger one would lose packets of downloads."""
    with suppress(DockerNotFoundError), engine.api("look at the engine's own network") as api:
        size = (api.inspect_network(ENGINES_OWN).get("Options") or {}).get(_MTU)
        return {} if size is None else {_MTU: str(size)}
    return {}


def _exists(engine: Engine) -> bool:
    with suppress(DockerNotFoundError), engine.api("look for a network") as api:
        api.inspect_network(_NAME)
        return True
    return False


HOLDER: Final = "agentbench-network"
"""The name of the holder's service in the project."""

_OWN_NETWORK = "agentbench-localhost"
_OF_ANOTHER_NETWORK = frozenset(
    {"dns", "dns_opt", "domainname", "expose", "extra_hosts", "hostname", "links", "networks"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNetwork:
    """The network of one sandbox and its services."""

    image: str  # of the sandbox, which has a shell
    outside: frozenset[str]  # the services with networks of their own
    resolves_names: bool  # of hosts that are not services

    def add_to(
        self, document: Mapping[str, JsonTable], project: str, labels: Mapping[str, str]
    ) -> None:
        """Change the tables `services` and `networks` of a project's compose file."""
        services, networks = document["services"], document["networks"]
        networks[_OWN_NETWORK] = _internal(project, _OWN_NETWORK, labels)
        for name, service in services.items():
            assert isinstance(service, dict)
            if name not in self.outside:
                for key in _OF_ANOTHER_NETWORK & service.keys():
                    del service[key]
                service["network_mode"] = f"service:{HOLDER}"
            elif "network_mode" not in service:
                link = _link(name)
                networks[link] = _internal(project, link, labels)
                joined = service.get("networks")
                service["networks"] = {**(joined if isinstance(joined, dict) else {}), link: None}
        names: JsonTable = {} if self.resolves_names else {"dns": [NO_DNS]}
        services[HOLDER] = {
            "image": self.image,
            "container_name": holder_of(project),
            "entrypoint": ["/bin/sh", "-c", "while :; do sleep 3600; done"],
            "networks": {_OWN_NETWORK: None},
            "labels": dict(labels),
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "pull_policy": "never",
            "mem_limit": 64 << 20,
            "pids_limit": 16,
            "dns_opt": [*QUICK_DNS],
            **names,
        }

    def links(self, project: str, network: Network) -> Iterator[tuple[str, bool]]:
        """The networks of the services outside, and whether the sandbox may reach each."""
        hosts = AllowedHosts(()) if isinstance(network, bool) else AllowedHosts(network)
        for name in sorted(self.outside):
            yield f"{project}_{_link(name)}", network is True or hosts.has_name(name)


def holder_of(project: str) -> str:
    """The name of the holder's container."""
    return f"{project}-network"


def _link(service: str) -> str:
    return f"agentbench-to-{service}"


def _internal(project: str, name: str, labels: Mapping[str, str]) -> JsonTable:
    options: JsonTable = {"com.docker.network.bridge.inhibit_ipv4": "true"}
    return {
        "name": f"{project}_{name}",
        "labels": dict(labels),
        "internal": True,
        "driver_opts": options,
    }
