"""What can be read in a container that works: files, environments, command lines, image layers."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import docker

_OVERLAP = 1 << 12  # what is looked for is shorter, in any dress
_PIECE = 1 << 22
_PROCESSES = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; true"


def all_in_container(mounted: Path) -> Iterator[bytes]:
    """Everything of the one container that has something of this folder mounted."""
    engine = docker.from_env()
    try:
        (container,) = [
            each
            for each in engine.containers.list()
            if any(mount["Source"].startswith(str(mounted)) for mount in each.attrs["Mounts"])
        ]
        image = engine.images.get(container.attrs["Image"])
        yield json.dumps([container.attrs, image.attrs, image.history()]).encode()
        status, processes = container.exec_run(["sh", "-c", _PROCESSES], user="0")
        assert status == 0
        assert b"OPENAI_API_KEY=" in processes  # so that it is known to show what is there
        yield processes
        yield from overlapping(container.export(_PIECE))
        yield from overlapping(image.save(_PIECE))
    finally:
        engine.close()


def all_in_files(folder: Path) -> Iterator[bytes]:
    """Every file under a folder."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                yield from overlapping(iter(lambda: file.read(_PIECE), b""))


def overlapping(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, each with the end of the one before."""
    before = b""
    for piece in pieces:
        yield before + piece
        before = piece[-_OVERLAP:]
