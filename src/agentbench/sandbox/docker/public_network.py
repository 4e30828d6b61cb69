"""The network of sandboxes with a public network; in it, they cannot reach each other."""

from collections.abc import Mapping
from contextlib import suppress

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine, EngineProduct
from agentbench.sandbox.ownership import KIND

ENGINES_OWN = "bridge"
"""The network that every engine has."""

_NAME = "agentbench-public"
_APART = {"com.docker.network.bridge.enable_icc": "false"}  # no traffic between its containers
_MTU = "com.docker.network.driver.mtu"


def public_network(engine: Engine) -> str:
    """The name of the network; it is created the first time, and stays.

    In Podman it is the engine's own network, where sandboxes reach each other.

    Raises:
        SandboxError: it cannot be created.
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
