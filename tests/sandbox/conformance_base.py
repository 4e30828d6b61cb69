"""What the parts of the conformance suite share: how a sandbox is opened and spoken to."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from agentbench.sandbox.interface import Command, ImageId, Limits, Promise, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult

LIMITS = Limits(cpus=2.0, memory_mib=512, pids=128, disk_mib=512)
PATIENCE = timedelta(seconds=120)  # for commands that end by themselves, on a loaded machine


def sh(sandbox: Sandbox, script: str, *, stdin: bytes = b"") -> CommandResult:
    """Run a shell script to its end."""
    argv = ("sh", "-c", script)
    return sandbox.run(Command(argv=argv, timeout=PATIENCE, stdin=stdin))


def python(sandbox: Sandbox, script: str, *args: str) -> CommandResult:
    """Run a Python script to its end."""
    return sandbox.run(Command(argv=("python", "-c", script, *args), timeout=PATIENCE))


def needs(provider: SandboxProvider, promise: Promise) -> None:
    """Skip, by name, what a back end does not promise."""
    if promise not in provider.promises:
        pytest.skip(f"{provider.name} does not promise: {promise}")


Opener = Callable[[], AbstractContextManager[Sandbox]]


class Conformance:
    """One sandbox a class for what leaves no trace, a fresh one for the rest."""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls, provider: SandboxProvider, image: ImageId) -> Iterator[Sandbox]:
        with provider.open(image, limits=LIMITS, network=False) as opened:
            yield opened

    @pytest.fixture
    def fresh(self, provider: SandboxProvider, image: ImageId) -> Iterator[Sandbox]:
        with provider.open(image, limits=LIMITS, network=False) as opened:
            yield opened
