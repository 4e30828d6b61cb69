"""The images of sandboxes: base images, images by name, and images built from Dockerfiles.

The images of other harnesses' tasks contain the repository in a folder of root, for example /app,
and their scripts use /tests, /solution and /logs. One layer on top of their image gives these
folders to the sandbox's user; a label contains the workspace.
"""

import hashlib
import io
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from agentbench.errors import ImageBuildError, RegistryError, SandboxError, UnavailableError
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.docker import base_image
from agentbench.sandbox.docker.compose_program import find_compose
from agentbench.sandbox.docker.container_options import LOG_FOLDERS, SCRIPT_FOLDERS
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import pull_image
from agentbench.sandbox.interface import USER_ID, ImageId
from agentbench.sandbox.ownership import ENTRYPOINT, KIND, PYTHON, RECIPE, WORKDIR, labels_of
from agentbench.sandbox.python_stacks import BASE_IMAGES, DEFAULT_PYTHON, STACKS, base_image_name
from agentbench.scoring.classification import network_failure
from agentbench.tasks.users import AGENT_USER, UserName
from agentbench.taxonomy import Fault

TASK_REPOSITORY = "agentbench/task"
"""The name of all images that are built from tasks' Dockerfiles."""

_MOST_RESTARTS = 3
_MISSING_STEP = re.compile(
    r"No such image: sha256:|failed to get digest sha256:|unknown parent image ID sha256:"
    r'|unable to find image "sha256:'
)
_FOR_BUILDKIT = re.compile(
    r"^\s*(?:RUN\s+--(?:mount|network|security)=|(?:COPY|ADD)\s+(?:--\S+\s+)*--(?:chmod|link))",
    re.IGNORECASE | re.MULTILINE,
)
"""Options that only BuildKit has; with them, the other builder leaves nameless images."""
_NEEDS_BUILDKIT = re.compile("BuildKit|unknown instruction|unknown flag", re.IGNORECASE)
"""Texts in messages of the engine's own builder, which is older."""
_BUILD_SECONDS = 1800
_BuildSource = Callable[[], Mapping[str, Any]]  # arguments of the SDK
_COST = "about 270 MB, 1 to 2 minutes"  # of a base image
_WORKDIR_RECIPE = "2"  # increment it when the layer changes


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """An existing base image."""

    name: str
    python: str
    id: ImageId
    size_bytes: int
    recipe: str


def list_images(engine: Engine) -> tuple[BaseImage, ...]:
    """The existing base images, newest Python first."""
    with engine.api("list images") as api:
        found = api.images(BASE_IMAGES, filters={"label": f"{KIND}=base-image"})
    images: list[BaseImage] = []
    for summary in found:
        if tags := summary.get("RepoTags"):
            labels: Mapping[str, str] = summary.get("Labels") or {}
            name = str(tags[0])
            name = name[max(0, name.find(BASE_IMAGES)) :]  # Podman adds a registry
            image = BaseImage(
                name=name,
                python=labels.get(PYTHON, name.rpartition(":")[2]),
                id=ImageId(str(summary["Id"])),
                size_bytes=int(summary.get("Size", 0)),
                recipe=labels.get(RECIPE, ""),
            )
            images.append(image)

    def version(image: BaseImage) -> list[int]:
        return [int(part) for part in image.python.split(".") if part.isdigit()]

    return tuple(sorted(images, key=version, reverse=True))


def build_base_image(
    engine: Engine,
    python: str = DEFAULT_PYTHON,
    *,
    progress: base_image.Progress = lambda _line: None,
) -> BaseImage:
    """Build the base image with a Python, unless it exists with the same recipe.

    Raises:
        UsageError: no base image has this Python.
        UnavailableError: it cannot be built; the message lists the attempts in order.
    """
    bases = base_image.base_image_sources(python)
    existing = {image.recipe: image for image in list_images(engine)}
    for base in bases:
        if (image := existing.get(base_image.recipe_hash(base.kind, python))) is not None:
            progress(f"{image.name} is up to date")
            return image
    started, faults = time.monotonic(), list[str]()
    progress(f"building {base_image_name(python)} ({_COST})")
    for base in bases:
        try:
            name = base.fetch(engine, progress)
        except SandboxError as fault:
            faults.append(f"{base.kind}: {fault}")
            continue
        image = _build_on(engine, base.kind, python, name, progress)
        seconds, size = time.monotonic() - started, image.size_bytes / 1e6
        progress(f"{image.name} is ready: {size:.0f} MB in {seconds:.0f} s")
        return image
    remedy = "Let the engine reach a registry, or install mmdebstrap."
    if python not in base_image.SUITES:
        suites = ", ".join(base_image.SUITES)
        remedy = f"Let the engine reach a registry; Debian's packages have Python {suites}."
    attempts = "\n  ".join(faults)
    raise UnavailableError(
        f"cannot build a base image with Python {python}. Attempts:\n  {attempts}\n{remedy}"
    )


def is_outdated(engine: Engine, python: str) -> bool:
    """Whether the base image with a Python exists, and was built by another recipe."""
    sources = base_image.base_image_sources(python)
    recipes = {base_image.recipe_hash(base.kind, python) for base in sources}
    return any(each.python == python and each.recipe not in recipes for each in list_images(engine))


def image_exists(engine: Engine, image: str) -> bool:
    """Whether the engine has an image."""
    return _id_of(engine, image) is not None


def image_bytes(engine: Engine) -> int:
    """The disk space of all images."""
    with engine.api("measure the images", moves_files=True) as api:
        return int(api.df().get("LayersSize") or 0)


def resolve_image(engine: Engine, image: str | None, *, dockerfile: Path | None = None) -> ImageId:
    """The id of an image by name (None: the default base image), or built from a Dockerfile.

    Raises:
        UnavailableError: the image is missing; the message says how to get it.
        ImageBuildError: the Dockerfile cannot be built.
    """
    if dockerfile is not None:
        folder = {"path": str(dockerfile.parent), "dockerfile": dockerfile.name}
        tag = f"{TASK_REPOSITORY}:{folder_hash(dockerfile.parent, dockerfile.name)}"
        if (found := _id_of(engine, tag)) is not None:
            return found
        try:
            return _build_task_image(engine, tag, dockerfile, folder)
        except UnavailableError as fault:
            error = ImageBuildError(str(fault))
            error.fault = None if network_failure(str(fault)) else Fault.TASK
            raise error from fault
    image = image or base_image_name(DEFAULT_PYTHON)
    if (found := _id_of(engine, image)) is not None:
        return found
    if image.startswith(f"{BASE_IMAGES}:"):
        version = image.rpartition(":")[2]
        if version not in STACKS:
            raise UnavailableError(
                f"there is no image {image}: base images exist for Python {', '.join(STACKS)}"
            )
        built = ", ".join(known.python for known in list_images(engine)) or "none"
        raise UnavailableError(
            f"the base image {image} is not built (built: {built}): "
            f"run `agentbench images build --python {version}`"
        )
    try:
        pull_image(engine, image)
    except SandboxError as fault:
        kind = UnavailableError if isinstance(fault, DockerNotFoundError) else RegistryError
        raise kind(
            f"the image {image} is missing and cannot be pulled ({fault}): "
            f"`docker load` it, or log in to its registry and `docker pull {image}`"
        ) from fault
    if (found := _id_of(engine, image)) is None:
        raise UnavailableError(f"the image {image} was pulled, but the engine does not find it")
    return found


def _build_on(
    engine: Engine, kind: str, python: str, name: str, progress: base_image.Progress
) -> BaseImage:
    recipe = base_image.recipe_hash(kind, python)
    tag = base_image_name(python)
    context = base_image.build_context(python)
    progress(f"installing pytest on {name}")
    labels = {**labels_of("base-image"), RECIPE: recipe, PYTHON: python}
    buildargs = {"BASE": name}
    _build(engine, tag, labels, lambda: {**_context(context), "buildargs": buildargs}, what=tag)
    for image in list_images(engine):
        if image.name == tag:
            return image
    raise UnavailableError(f"{tag} was built, but the engine does not list it")


def _context(tar: bytes) -> dict[str, Any]:  # arguments of the SDK
    return {"fileobj": io.BytesIO(tar), "custom_context": True}


def _build(
    engine: Engine, tag: str, labels: dict[str, str], source: _BuildSource, what: str
) -> ImageId:
    """Build an image from a source, and return its id.

    Raises:
        UnavailableError: the build failed; with its last output.
    """
    with engine.api(f"build {what}", moves_files=True) as api:
        options: dict[str, Any] = {"tag": tag, "labels": labels, "timeout": _BUILD_SECONDS}
        options |= {"rm": True, "forcerm": True, "decode": True}
        run_build(lambda: api.build(**options, **source()), what)
    if (found := _id_of(engine, tag)) is None:
        raise UnavailableError(f"{what} was built, but the engine does not find {tag}")
    return found


def _build_task_image(
    engine: Engine, tag: str, dockerfile: Path, folder: Mapping[str, str]
) -> ImageId:
    """Build a task's image with the engine's own builder, or with BuildKit if it needs that."""
    if _FOR_BUILDKIT.search(dockerfile.read_text("utf-8", "replace")):
        return _build_with_buildkit(engine, tag, dockerfile)
    try:
        return _build(engine, tag, labels_of("task-image"), lambda: folder, what=str(dockerfile))
    except (SandboxError, UnavailableError) as fault:
        if not _NEEDS_BUILDKIT.search(str(fault)):
            raise
        return _build_with_buildkit(engine, tag, dockerfile)


def _build_with_buildkit(engine: Engine, tag: str, dockerfile: Path) -> ImageId:
    """Build an image with BuildKit, which Compose talks to.

    Raises:
        UnavailableError: the build failed, or Compose is missing.
    """
    build = {
        "context": str(dockerfile.parent.absolute()),
        "dockerfile": dockerfile.name,
        "labels": labels_of("task-image"),
    }
    program = find_compose(engine.facts, engine.address.passed_on)
    outcome = program.build({"image": {"image": tag, "build": build}})
    found = _id_of(engine, tag)
    if outcome.code or found is None:
        raise UnavailableError(
            f"cannot build {dockerfile}: {outcome.last_message}\n{outcome.last_output}"
        )
    return found


def run_build(build: Callable[[], Iterable[Mapping[str, object]]], what: str) -> None:
    """Start a build and read its output to the end.

    A build fails if another process removes an image with a common step; then it is repeated.

    Raises:
        UnavailableError: the build failed; with its last output.
    """
    for _ in range(_MOST_RESTARTS):
        try:
            return _read_build(build(), what)
        except UnavailableError as fault:
            if not _MISSING_STEP.search(str(fault)):
                raise
    return _read_build(build(), what)


def _read_build(lines: Iterable[Mapping[str, object]], what: str) -> None:
    output, fault = "", None
    for line in lines:  # to its end, or the SDK would leave a socket open
        output = (output + str(line.get("stream", "")))[-2000:]
        fault = line.get("error", fault)
    if fault is not None:
        raise UnavailableError(f"cannot build {what}: {fault}\n{output.strip()}")


def _id_of(engine: Engine, image: str) -> ImageId | None:
    with suppress(DockerNotFoundError):
        return ImageId(engine.image(image).id)
    return None


def folder_hash(folder: Path, salt: str) -> str:
    """A hash of a folder's files, and of other inputs that decide the image built from them."""
    digest = hashlib.sha256(salt.encode())
    for path in sorted(folder.rglob("*")):
        if not (path.is_symlink() or path.is_file()):
            continue
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        name = path.relative_to(folder).as_posix()
        digest.update(f"\0{name}\0{path.lstat().st_mode:o}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def with_workdir(
    engine: Engine, image: ImageId, workdir: PurePosixPath, user: UserName = AGENT_USER
) -> ImageId:
    """The image with a folder as its workspace, which is built the first time.

    The folder belongs to the user of agents; for root, its owner in the image is kept.

    Raises:
        UnavailableError: it cannot be built; with the engine's output.
    """
    is_root = user != AGENT_USER
    recipe = f"{_WORKDIR_RECIPE}\n{image}\n{workdir}" + ("\nany user" if is_root else "")
    name = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    tag = f"{TASK_REPOSITORY}:workdir-{name}"
    if (found := _id_of(engine, tag)) is not None:
        return found
    owner = f"{USER_ID}:{USER_ID}"
    folders: tuple[str, ...]
    if is_root:
        script, folders = 'mkdir -p "$@" && shift && chmod 777 "$@"', LOG_FOLDERS
    else:
        script, folders = f'mkdir -p "$@" && chown -Rh {owner} "$@" /logs', SCRIPT_FOLDERS
    run = json.dumps(["/bin/sh", "-c", script, "sh", str(workdir), *folders])
    context = tar_of_file("Dockerfile", f"FROM {image}\nUSER 0:0\nRUN {run}\n".encode())
    labels = {**labels_of("task-image"), WORKDIR: str(workdir)}
    facts = engine.image(image)
    if facts.entrypoint:  # the entrypoint of a snapshot is our own
        labels[ENTRYPOINT] = json.dumps([facts.entrypoint, facts.user, facts.workdir])
    what = f"the workspace {workdir} of {image}"
    return _build(engine, tag, labels, lambda: _context(context), what=what)
