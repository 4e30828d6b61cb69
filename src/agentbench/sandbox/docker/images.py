"""Images that sandboxes start from.

Our base image, one built from a task's Dockerfile, any other by name, and one with a workspace of
its own.

Tasks of other harnesses hold their files in the image, say in /app, belonging to root, and their
scripts know /tests, /solution and /logs. A sandbox's user is nobody there, so one layer on top of
the image gives these folders to it; a label tells where the workspace is.
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.base_images import DEFAULT_PYTHON, STACKS
from agentbench.sandbox.docker.base_image import (
    SUITES,
    BaseImageSource,
    Progress,
    base_image_sources,
    build_context,
    pull,
    recipe_hash,
)
from agentbench.sandbox.docker.container_options import SCRIPT_FOLDERS, USER
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.interface import ImageId
from agentbench.sandbox.ownership import KIND, PYTHON, RECIPE, WORKDIR, labels_of

REPOSITORY = "agentbench/python"
_MOST_RESTARTS = 3
_STEP_IS_GONE = re.compile(
    r"No such image: sha256:|failed to get digest sha256:|unknown parent image ID sha256:"
)
_BUILD_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """A base image that is there."""

    name: str
    python: str
    id: ImageId
    size_bytes: int
    recipe: str


def list_images(engine: Engine) -> tuple[BaseImage, ...]:
    """The base images that are there, newest Python first.

    Raises:
        SandboxError: the engine is lost.
    """
    with engine.api("list images") as api:
        found = api.images(REPOSITORY, filters={"label": f"{KIND}=base-image"})
    images = [_base_image(summary) for summary in found if summary.get("RepoTags")]
    return tuple(sorted(images, key=lambda image: _version_key(image.python), reverse=True))


def build_base_image(
    engine: Engine, python: str = DEFAULT_PYTHON, *, progress: Progress = lambda _line: None
) -> BaseImage:
    """Make the base image with a Python, unless it is there as the recipe has it.

    Raises:
        UsageError: no base image has this Python.
        UnavailableError: it cannot be made; names what was tried, in this order.
        SandboxError: the engine is lost.
    """
    bases = base_image_sources(python)
    there = {image.recipe: image for image in list_images(engine)}
    for base in bases:
        if (image := there.get(recipe_hash(base.kind, base.python))) is not None:
            progress(f"{image.name} is there and up to date")
            return image
    faults: list[str] = []
    for base in bases:
        try:
            name = base.fetch(engine, progress)
        except SandboxError as fault:
            faults.append(f"{base.kind}: {fault}")
            continue
        return _build_on(engine, base, name, progress)
    tried = "\n  ".join(faults)
    raise UnavailableError(
        f"no base image with Python {python} can be made. Tried:\n  {tried}\n{_remedy(python)}"
    )


def _remedy(python: str) -> str:
    if python in SUITES:
        return "Let the engine reach a registry, or install mmdebstrap."
    return f"Let the engine reach a registry; Debian's packages have Python {', '.join(SUITES)}."


def resolve_image(engine: Engine, image: str | None, *, dockerfile: Path | None = None) -> ImageId:
    """The id of an image by name (None: the default base image), or built from a Dockerfile.

    Raises:
        UnavailableError: it is not there and cannot be had; says how to get it.
        SandboxError: the engine is lost.
    """
    if dockerfile is not None:
        return _of_dockerfile(engine, dockerfile)
    image = image or name_of(DEFAULT_PYTHON)
    if (found := _id_of(engine, image)) is not None:
        return found
    if image.startswith(f"{REPOSITORY}:"):
        raise UnavailableError(_how_to_get(image, list_images(engine)))
    try:
        pull(engine, image, lambda _line: None)
    except SandboxError as fault:
        raise UnavailableError(
            f"the image {image} is not on this machine and cannot be had ({fault}): "
            f"`docker load` it, or log in to its registry and `docker pull {image}`"
        ) from fault
    if (found := _id_of(engine, image)) is None:
        raise UnavailableError(f"the image {image} was pulled and is not there")
    return found


def name_of(python: str) -> str:
    """What the base image with a Python is called."""
    return f"{REPOSITORY}:{python}"


def python_in(name: str) -> str | None:
    """The Python of a base image by its name; None for any other image."""
    version = name.removeprefix(f"{REPOSITORY}:")
    return version if version in STACKS else None


def _how_to_get(image: str, present: Sequence[BaseImage]) -> str:
    """Why a base image of ours cannot be used, and the command that helps."""
    version = image.rpartition(":")[2]
    if version not in STACKS:
        return f"there is no image {image}: base images exist for Python {', '.join(STACKS)}"
    built = ", ".join(known.python for known in present) or "none"
    return (
        f"the base image {image} is not built (built: {built}): "
        f"run `agentbench images build --python {version}`"
    )


def _of_dockerfile(engine: Engine, dockerfile: Path) -> ImageId:
    tag = f"agentbench/task:{_hash_of(dockerfile)}"
    if (found := _id_of(engine, tag)) is not None:
        return found
    with engine.api(f"build {dockerfile}", moves_files=True) as api:
        run_build(
            lambda: api.build(
                path=str(dockerfile.parent),
                dockerfile=dockerfile.name,
                tag=tag,
                labels=labels_of("task-image"),
                rm=True,
                forcerm=True,
                decode=True,
                timeout=_BUILD_SECONDS,
            ),
            str(dockerfile),
        )
    if (found := _id_of(engine, tag)) is None:
        raise UnavailableError(f"{dockerfile} was built and its image is not there")
    return found


def _build_on(engine: Engine, base: BaseImageSource, name: str, progress: Progress) -> BaseImage:
    recipe = recipe_hash(base.kind, base.python)
    tag = name_of(base.python)
    context = build_context(base.python)
    progress(f"building {tag} on {name}")
    labels = {**labels_of("base-image"), RECIPE: recipe, PYTHON: base.python}
    with engine.api(f"build {tag}", moves_files=True) as api:
        run_build(
            lambda: api.build(
                fileobj=io.BytesIO(context),
                custom_context=True,
                buildargs={"BASE": name},
                tag=tag,
                labels=labels,
                rm=True,
                forcerm=True,
                decode=True,
                timeout=_BUILD_SECONDS,
            ),
            tag,
        )
    for image in list_images(engine):
        if image.name == tag:
            progress(f"{tag} is ready")
            return image
    raise UnavailableError(f"{tag} was built and is not there")


def run_build(build: Callable[[], Iterable[Mapping[str, object]]], what: str) -> None:
    """Start a build and read it to its end.

    Who removes an image beside it can take a step from it that both have: it is started again.

    Raises:
        UnavailableError: it failed; with what it said last.
    """
    for _ in range(_MOST_RESTARTS):
        try:
            return _read_build(build(), what)
        except UnavailableError as fault:
            if not _STEP_IS_GONE.search(str(fault)):
                raise
    return _read_build(build(), what)


def _read_build(lines: Iterable[Mapping[str, object]], what: str) -> None:
    said = ""
    for line in lines:
        said = (said + str(line.get("stream", "")))[-2000:]
        if "error" in line:
            raise UnavailableError(f"{what} cannot be built: {line['error']}\n{said.strip()}")


def _id_of(engine: Engine, image: str) -> ImageId | None:
    try:
        return ImageId(engine.image(image).id)
    except DockerNotFoundError:
        return None


def _hash_of(dockerfile: Path) -> str:
    """Names the content of a Dockerfile's whole folder."""
    digest = hashlib.sha256(dockerfile.name.encode())
    for path in _files_under(dockerfile.parent):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        name = path.relative_to(dockerfile.parent).as_posix()
        digest.update(f"\0{name}\0{path.lstat().st_mode:o}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _files_under(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or path.is_file():
            yield path


def _base_image(summary: Mapping[str, object]) -> BaseImage:
    labels = summary.get("Labels")
    tags = summary.get("RepoTags")
    named: Mapping[str, str] = labels if isinstance(labels, dict) else {}
    tag = str(tags[0]) if isinstance(tags, list) else ""
    name = tag[max(0, tag.find(REPOSITORY)) :]  # Podman puts a registry before it
    return BaseImage(
        name=name,
        python=named.get(PYTHON, name.rpartition(":")[2]),
        id=ImageId(str(summary["Id"])),
        size_bytes=int(str(summary.get("Size", 0))),
        recipe=named.get(RECIPE, ""),
    )


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_WORKDIR_RECIPE = "1"  # to be counted up when what is made below changes
_WORKDIR_BUILD_SECONDS = 600

Follow = Callable[[Callable[[], Iterable[Mapping[str, object]]], str], None]
"""Starts a build and reads what the engine says; raises UnavailableError where it fails."""


def with_workdir(engine: Engine, image: ImageId, workdir: PurePosixPath, follow: Follow) -> ImageId:
    """The image with that folder for its workspace; made the first time.

    Raises:
        UnavailableError: it cannot be made; with what the engine said.
        SandboxError: the engine is lost.
    """
    name = hashlib.sha256(f"{_WORKDIR_RECIPE}\n{image}\n{workdir}".encode()).hexdigest()[:16]
    tag = f"agentbench/task:workdir-{name}"
    try:
        return ImageId(engine.image(tag).id)
    except DockerNotFoundError:
        pass
    with engine.api(f"give {image} its workspace", moves_files=True) as api:
        follow(
            lambda: api.build(
                fileobj=io.BytesIO(_workdir_context(image, workdir)),
                custom_context=True,
                tag=tag,
                labels={**labels_of("task-image"), WORKDIR: str(workdir)},
                rm=True,
                forcerm=True,
                decode=True,
                timeout=_WORKDIR_BUILD_SECONDS,
            ),
            f"the workspace {workdir} of {image}",
        )
    try:
        return ImageId(engine.image(tag).id)
    except DockerNotFoundError:
        raise UnavailableError(f"{tag} was built and is not there") from None


def _workdir_context(image: ImageId, workdir: PurePosixPath) -> bytes:
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
