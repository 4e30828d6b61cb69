"""Services on the localhost of their sandbox, as in Harbor's tasks without a public network.

A small container, the holder, owns the network that they share with the sandbox. Services with
networks of their own are outside of it: each has another network, which the holder joins while the
sandbox may reach that service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agentbench.core.network import AllowedHosts, Network
from agentbench.sandbox.docker.compose_schema import JsonTable
from agentbench.sandbox.docker.container_options import NO_DNS, QUICK_DNS

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
        """Change the services and networks of a compose file.

        Args:
            document: The tables `services` and `networks`.
            project: The name of the project.
            labels: The labels of everything in the project.
        """
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
