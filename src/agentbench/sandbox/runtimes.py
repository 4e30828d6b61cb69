"""The runtimes of container engines: programs that run containers, such as gVisor's runsc."""

from typing import Protocol, runtime_checkable

from agentbench.errors import UnavailableError
from agentbench.sandbox.interface import Promise, SandboxProvider

UNCERTAIN = frozenset({Promise.PIDS_LIMIT})
"""Promises that runtimes other than the default one may break: gVisor has processes of its own,
which the engine's limit must allow."""


@runtime_checkable
class HasRuntimes(Protocol):
    """A provider whose engine may have several runtimes (`Limits.runtime`)."""

    def check_runtime(self, runtime: str) -> None:
        """Check that the engine has a runtime.

        Raises:
            UnavailableError: it does not have it; the message names its runtimes.
            SandboxError: the engine is lost.
        """


def check_runtime(provider: SandboxProvider, runtime: str | None) -> None:
    """Check that a back end has a runtime; None is the default one.

    Raises:
        UnavailableError: it does not have it.
        SandboxError: the engine is lost.
    """
    if runtime is None:
        return
    if not isinstance(provider, HasRuntimes):
        raise UnavailableError(
            f"{provider.name} has no runtime {runtime!r}: use a container engine, --sandbox docker"
        )
    provider.check_runtime(runtime)


def promises_of(provider: SandboxProvider, runtime: str | None) -> frozenset[Promise]:
    """The promises that a back end keeps with a runtime."""
    return provider.promises - (UNCERTAIN if runtime else frozenset())
