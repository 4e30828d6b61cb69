"""A container's volumes read as folders of this machine, where they are.

The engine would start a process of its own to pack them, a tenth of a second each time. It takes
root's rights and an engine whose volumes are folders of this machine; their names are random, so
one that is there is the right one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_container import Container
from agentbench.sandbox.no_follow import open_below
from agentbench.sandbox.tree_tar import tar_stream


def volume_here(container: Container, path: PurePosixPath) -> tuple[Path, tuple[str, ...]] | None:
    """The folder of this machine that is the volume of a path, and the way on; None: none is.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    if os.geteuid() != 0 or ".." in path.parts:
        return None
    for place, source in container.volumes().items():
        if path.is_relative_to(place) and Path(source).is_dir():
            return Path(source), path.relative_to(place).parts
    return None


@contextmanager
def tree_here(volume: Path, parts: tuple[str, ...], doing: str) -> Iterator[Iterator[bytes]]:
    """The tree in a volume as a plain tar stream; no link in it is followed.

    Raises:
        SandboxError: there is no such folder, or it changes while it is read.
    """
    try:
        folder = open_below(volume, parts)
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault.strerror}") from fault
    try:
        yield _told(tar_stream(folder), doing)
    finally:
        os.close(folder)


def _told(stream: Iterator[bytes], doing: str) -> Iterator[bytes]:
    try:
        yield from stream
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
