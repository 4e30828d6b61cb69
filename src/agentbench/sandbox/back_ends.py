"""The table of back ends, in a module that starts quickly: each start of the program reads it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentbench.sandbox.interface import SandboxProvider


class SandboxName(StrEnum):
    """The values of `--sandbox`."""

    AUTO = "auto"  # the first back end of the table that works here
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEnd:
    """A way to run sandboxes, with the facts that other parts of agentbench need."""

    name: str  # also the name of its folder in the cache
    connect: "Callable[[Path], SandboxProvider]"  # takes the cache folder
    isolates: bool = True  # False: only agents that the user trusts may run
    keeps_files: bool = True  # snapshots and live sandboxes are folders in the cache folder
    start_ms: int  # the approximate start time of an empty sandbox


# Names of classes, because a module is imported only if its back end is connected.
BACK_ENDS = (
    BackEnd(
        name=SandboxName.DOCKER,
        connect=lambda _cache_dir: resolve_name(
            "agentbench.sandbox.docker.provider:DockerProvider"
        ).connect(),
        keeps_files=False,  # the engine stores them
        start_ms=200,
    ),
    BackEnd(
        name=SandboxName.BUBBLEWRAP,
        connect=lambda cache_dir: resolve_name(
            "agentbench.sandbox.bubblewrap.provider:BubblewrapProvider"
        ).connect(cache_dir=cache_dir),
        start_ms=12,
    ),
    BackEnd(
        name=SandboxName.PROCESS,
        connect=lambda cache_dir: resolve_name(
            "agentbench.sandbox.process.provider:ProcessProvider"
        ).connect(cache_dir=cache_dir),
        isolates=False,
        start_ms=5,
    ),
)
"""The back ends, the most trusted first."""
BACK_ENDS_BY_NAME = {back_end.name: back_end for back_end in BACK_ENDS}
