"""A command in a sandbox that has no network but its door to a model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from agentbench.agents.gateway.carrying import carrying
from agentbench.agents.model_door import ModelDoor
from agentbench.sandbox.interface import Beside, Command, ReadOnlyMount, Sandbox

RELAY_MOUNT = "agentbench-relay.py"
CARRIER_MOUNT = "agentbench-carrier.py"
DOOR_MOUNT = "agentbench-door"
PLACE = "{agentbench-door}"
"""What the relay replaces by the address of the door, wherever it stands in the environment."""

_PROGRAMS = Path(__file__).parent / "mounted"
_CARRIED = PurePosixPath("/tmp/agentbench-door.sock")  # where the carrier listens
# One outside the environment that agents may write to, if there is any.
_WITH_PYTHON = """
for python in /usr/bin/python3 /usr/local/bin/python3; do
  if [ -x "$python" ]; then exec "$python" -I -S "$@"; fi
done
exec python3 -I -S "$@"
""".strip()


def door_mounts(door: ModelDoor) -> tuple[ReadOnlyMount, ...]:
    """What a sandbox has to be opened with for `behind_relay`."""
    return (
        ReadOnlyMount(name=RELAY_MOUNT, source=_PROGRAMS / "agentbench_relay.py"),
        ReadOnlyMount(name=CARRIER_MOUNT, source=_PROGRAMS / "agentbench_carrier.py"),
        ReadOnlyMount(name=DOOR_MOUNT, source=door.socket.parent, live=True),
    )


def behind_relay(command: Command, sandbox: Sandbox, door: ModelDoor) -> Command:
    """The command, with the door to its model at an address that clients of models are told of.

    It ends as the command would have ended. What the command's own environment says wins; there,
    `{agentbench-door}` stands for the address, without a path.

    Raises:
        KeyError: the sandbox was not opened with the door's mounts.
    """
    relay = sandbox.mounted(RELAY_MOUNT)
    try:
        socket, beside = sandbox.mounted(DOOR_MOUNT) / door.socket.name, None
    except KeyError:  # its engine does not see our sockets
        socket, beside = _CARRIED, _carrier(sandbox, door)
    return replace(
        command,
        argv=(*_program(relay, socket), "--", *command.argv),
        env={**model_environment(door), **command.env},
        beside=beside,
    )


def _carrier(sandbox: Sandbox, door: ModelDoor) -> Beside:
    """What leads to the door by the engine's own connection."""
    return Beside(
        argv=_program(sandbox.mounted(CARRIER_MOUNT), _CARRIED),
        attend=lambda stream: carrying(stream, door.socket),
    )


def _program(path: PurePosixPath, socket: PurePosixPath) -> tuple[str, ...]:
    return ("sh", "-c", _WITH_PYTHON, path.stem, str(path), str(socket))


def model_environment(door: ModelDoor) -> Mapping[str, str]:
    """The variables that clients of models look at, as they are set behind the relay."""
    return {
        "AGENTBENCH_MODEL": door.model,
        "OPENAI_BASE_URL": f"{PLACE}/v1",
        "OPENAI_API_BASE": f"{PLACE}/v1",
        "OPENAI_API_KEY": door.token,
        "ANTHROPIC_BASE_URL": PLACE,
        "ANTHROPIC_API_KEY": door.token,
        "GOOGLE_GEMINI_BASE_URL": PLACE,
        "GEMINI_API_KEY": door.token,
    }
