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
from agentbench.sandbox.docker.container import LOG_FOLDERS, SCRIPT_FOLDERS
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import pull_image
from agentbench.sandbox.interface import USER_ID, ImageId
from agentbench.sandbox.ownership import ENTRYPOINT, KIND, PYTHON, RECIPE, WORKDIR, labels_of
from agentbench.sandbox.python_stacks import BASE_IMAGES, DEFAULT_PYTHON, STACKS, base_image_name
from agentbench.sandbox.toolchains import SUITES, Toolchain
from agentbench.scoring.classification import network_failure
from agentbench.tasks.users import AGENT_USER, UserName
from agentbench.taxonomy import Fault

TASK_REPOSITORY = "agentbench/task"
"""The name of all images that are built from tasks' Dockerfiles."""

_MOST_RESTARTS = 3
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What the engine says of its steps, between the output of their commands.
_STEP = re.compile(r"Step \d+/\d+ :| ---> |Removing intermediate container |Successfully ")
_LAST_LINES = 10  # of the output of a failed build
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
BASE_IMAGE_COST = "about 270 MB, 1 to 2 minutes"  # of a base image
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
    toolchain: Toolchain | None = None,
    *,
    progress: base_image.Progress = lambda _line: None,
) -> BaseImage:
    """Build the base image with a Python and some tools, unless it exists with the same recipe.

    Raises:
        UsageError: no base image has this Python.
        UnavailableError: it cannot be built; the message lists the attempts in order.
    """
    bases = base_image.base_image_sources(python, toolchain)
    tag = base_image_name(python) if toolchain is None else toolchain.image_name(python)
    existing = {image.recipe: image for image in list_images(engine)}
    for base in bases:
        if (image := existing.get(base_image.recipe_hash(base.kind, python))) is not None:
            progress(f"{image.name} is up to date")
            return image
    started, faults = time.monotonic(), list[str]()
    cost = BASE_IMAGE_COST if toolchain is None else "1 to 2 GB, some minutes"
    progress(f"building {tag} ({cost})")
    for base in bases:
        try:
            name = base.fetch(engine, progress)
            if base.packages:
                name = _with_packages(engine, name, base.packages, progress)
        except SandboxError as fault:
            faults.append(f"{base.kind}: {fault}")
        else:
            break
    else:
        remedy = "Let the engine reach a registry, or install mmdebstrap."
        if python not in SUITES:
            suites = ", ".join(SUITES)
            remedy = f"Let the engine reach a registry; Debian's packages have Python {suites}."
        elif toolchain is not None and toolchain.suite != SUITES[python]:
            own = SUITES[python]
            remedy = (
                f"Let the engine reach a registry: Debian {own}, which has Python {python}, lacks "
                f"these versions, and {toolchain.suite} has another Python."
            )
        attempts = "\n  ".join(faults)
        raise UnavailableError(
            f"cannot build a base image with Python {python}. Attempts:\n  {attempts}\n{remedy}"
        )
    recipe = base_image.recipe_hash(base.kind, python)
    context = base_image.build_context(python)
    progress(f"installing pytest on {name}")
    labels = {**labels_of("base-image"), RECIPE: recipe, PYTHON: python}
    arguments = {"buildargs": {"BASE": name}}
    _build(engine, tag, labels, lambda: {**_context(context), **arguments}, what=tag)
    image = next((each for each in list_images(engine) if each.name == tag), None)
    if image is None:
        raise UnavailableError(f"{tag} was built, but the engine does not list it")
    seconds, size = time.monotonic() - started, image.size_bytes / 1e6
    progress(f"{image.name} is ready: {size:.0f} MB in {seconds:.0f} s")
    return image


def _with_packages(
    engine: Engine, image: str, packages: tuple[str, ...], progress: base_image.Progress
) -> str:
    """An image with Debian's packages on top of another one."""
    progress(f"installing {', '.join(packages)}")
    lines = (
        f"FROM {image}",
        # The scripts of Java's packages need these folders, which slim images lack.
        "RUN mkdir -p /usr/share/man/man1 && apt-get update"
        f" && apt-get install --yes --no-install-recommends {' '.join(packages)}"
        " && rm -rf /var/lib/apt/lists/*",
    )
    dockerfile = "\n".join(lines).encode()
    tag = f"agentbench/debian:tools-{hashlib.sha256(dockerfile).hexdigest()[:8]}"
    context = tar_of_file("Dockerfile", dockerfile)
    _build(engine, tag, labels_of("base"), lambda: _context(context), what=tag)
    return tag


def is_outdated(engine: Engine, python: str) -> bool:
    """Whether the base image with a Python exists, and was built by another recipe."""
    sources = base_image.base_image_sources(python)
    recipes = {base_image.recipe_hash(base.kind, python) for base in sources}
    name = base_image_name(python)
    return any(each.name == name and each.recipe not in recipes for each in list_images(engine))


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
        return _image_of_dockerfile(engine, dockerfile)
    image = image or base_image_name(DEFAULT_PYTHON)
    if (found := _id_of(engine, image)) is not None:
        return found
    if image.startswith(f"{BASE_IMAGES}:"):
        version, *tools = image.rpartition(":")[2].split("-")
        if version in STACKS and tools:
            named = [re.sub(r"^([a-z]+)(?=[\d.]+$)", r"\1=", each) for each in tools]
            wanted = " ".join(f"--with {each}" for each in named)
            raise UnavailableError(
                f"the base image {image} is not built: "
                f"run `agentbench images build --python {version} {wanted}`"
            )
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


def _image_of_dockerfile(engine: Engine, dockerfile: Path) -> ImageId:
    folder = {"path": str(dockerfile.parent), "dockerfile": dockerfile.name}
    tag = f"{TASK_REPOSITORY}:{folder_hash(dockerfile.parent, dockerfile.name)}"
    if (found := _id_of(engine, tag)) is not None:
        return found
    try:
        # BuildKit needs Compose, which may be missing. So the engine's own builder comes first.
        needs_buildkit = bool(_FOR_BUILDKIT.search(dockerfile.read_text("utf-8", "replace")))
        if not needs_buildkit:
            labels, what = labels_of("task-image"), str(dockerfile)
            try:
                return _build(engine, tag, labels, lambda: folder, what=what)
            except (SandboxError, UnavailableError) as fault:
                if not _NEEDS_BUILDKIT.search(str(fault)):
                    raise
        return _build_with_buildkit(engine, tag, dockerfile)
    except UnavailableError as fault:
        error = ImageBuildError(str(fault))
        error.fault = None if network_failure(str(fault)) else Fault.TASK
        raise error from fault


def _context(tar: bytes) -> dict[str, Any]:  # arguments of the SDK
    return {"fileobj": io.BytesIO(tar), "custom_context": True}


def _build(
    engine: Engine, tag: str, labels: dict[str, str], source: _BuildSource, what: str
) -> ImageId:
    with engine.api(f"build {what}", moves_files=True) as api:
        options: dict[str, Any] = {"tag": tag, "labels": labels, "timeout": _BUILD_SECONDS}
        options |= {"rm": True, "forcerm": True, "decode": True}
        run_build(lambda: api.build(**options, **source()), what)
    if (found := _id_of(engine, tag)) is None:
        raise UnavailableError(f"{what} was built, but the engine does not find {tag}")
    return found


def _build_with_buildkit(engine: Engine, tag: str, dockerfile: Path) -> ImageId:
    # Compose talks to BuildKit; the SDK does not.
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

    Raises:
        UnavailableError: the build failed; with its last output.
    """
    for remaining in range(_MOST_RESTARTS, -1, -1):
        output, fault = "", None
        # To its end, or the SDK would leave a socket open.
        for line in build():
            output = (output + str(line.get("stream", "")))[-2000:]
            fault = line.get("error", fault)
        if fault is None:
            return
        # The fault names the command; the lines above it say why it failed.
        lines = _COLOURS.sub("", output).splitlines()
        said = [line for line in lines if line.strip() and not _STEP.match(line)]
        # Without any output, the last step says what failed, such as an image to pull.
        said = said or [line for line in lines if line.startswith("Step ")][-1:]
        message = "\n".join((f"cannot build {what}: {fault}", *said[-_LAST_LINES:]))
        # A build fails if another process removes an image with a common step; it is repeated.
        if not remaining or not _MISSING_STEP.search(message):
            raise UnavailableError(message)


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
    """The image with a folder as its workspace, which is built the first time."""
    # The folder belongs to the user of agents; for root, its owner in the image is kept.
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
