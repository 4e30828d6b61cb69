"""An image whose own folder is the workspace: what a script that judges needs around it.

Tasks of other harnesses hold their files in the image, say in /app, belonging to root, and their
scripts know /tests, /solution and /logs. A sandbox's user is nobody there, so one layer on top of
the image gives these folders to it; a label tells where the workspace is.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker_engine import Engine, NotThereError
from agentbench.sandbox.docker_labels import WORKDIR, labels_of
from agentbench.sandbox.docker_options import SCRIPT_FOLDERS, USER
from agentbench.sandbox.interface import ImageId

_RECIPE = "1"  # to be counted up when what is made below changes
_BUILD_SECONDS = 600

Follow = Callable[[Callable[[], Iterable[Mapping[str, object]]], str], None]
"""Starts a build and reads what the engine says; raises UnavailableError where it fails."""


def with_workdir(engine: Engine, image: ImageId, workdir: PurePosixPath, follow: Follow) -> ImageId:
    """The image with that folder for its workspace; made the first time.

    Raises:
        UnavailableError: it cannot be made; with what the engine said.
        SandboxError: the engine is lost.
    """
    name = hashlib.sha256(f"{_RECIPE}\n{image}\n{workdir}".encode()).hexdigest()[:16]
    tag = f"agentbench/task:workdir-{name}"
    try:
        return ImageId(engine.image(tag).id)
    except NotThereError:
        pass
    with engine.speak(f"give {image} its workspace", moves_files=True) as api:
        follow(
            lambda: api.build(
                fileobj=io.BytesIO(_context(image, workdir)),
                custom_context=True,
                tag=tag,
                labels={**labels_of("task-image"), WORKDIR: str(workdir)},
                rm=True,
                forcerm=True,
                decode=True,
                timeout=_BUILD_SECONDS,
            ),
            f"the workspace {workdir} of {image}",
        )
    try:
        return ImageId(engine.image(tag).id)
    except NotThereError:
        raise UnavailableError(f"{tag} was built and is not there") from None


def _context(image: ImageId, workdir: PurePosixPath) -> bytes:
    """A tar with the Dockerfile alone."""
    folders = [str(workdir), *SCRIPT_FOLDERS]
    script = f'mkdir -p "$@" && chown -Rh {USER} "$@" /logs'
    run = json.dumps(["/bin/sh", "-c", script, "sh", *folders])
    content = f"FROM {image}\nUSER 0:0\nRUN {run}\n".encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
