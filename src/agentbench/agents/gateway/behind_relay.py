"""An agent's command, run behind the relay that leads from its sandbox to the gateway."""

from pathlib import Path

from agentbench.agents.model_door import ModelDoor
from agentbench.sandbox.interface import ReadOnlyMount

_RELAY = Path(__file__).with_name("mounted") / "agentbench_relay.py"


def door_mounts(door: ModelDoor) -> tuple[ReadOnlyMount, ...]:
    """What a sandbox needs to reach the gateway: the relay, and the folder of the socket."""
    return (
        ReadOnlyMount(name="agentbench-relay.py", source=_RELAY),
        ReadOnlyMount(name="agentbench-door", source=door.socket.parent),
    )
