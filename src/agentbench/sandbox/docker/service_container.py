"""Runs commands in the container of a service."""

import time
from threading import Event

from agentbench.errors import RunCancelled
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container_options import account_of
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import Command

_POLL = 0.1  # seconds between two checks of the clock and the cancel event


def run_in_container(
    engine: Engine, container: str, command: Command, cancel: Event | None
) -> int | None:
    """Run a command in a container; its exit code, or None if it was cancelled."""
    with engine.api("run a command in a service") as api:
        created = api.exec_create(
            container,
            [*command.argv],
            user="" if command.user is None else account_of(command.user),
            environment=dict(command.env),
        )
        stream = AttachedStream(api.exec_start(created["Id"], socket=True))
    deadline = time.monotonic() + command.timeout.total_seconds()
    with stream:
        while not stream.ended:
            if cancel is not None and cancel.is_set():
                raise RunCancelled
            if time.monotonic() > deadline:
                return None
            for frame in stream.receive(_POLL):
                if command.sink is not None:
                    command.sink(frame.stream, frame.data)
    with engine.api("see how a command in a service ended") as api:
        code = api.exec_inspect(created["Id"])["ExitCode"]
    return None if code is None else int(code)
