"""How a base image is made.

The image that it is built on, its Dockerfile and wheels, and the hash of its recipe.
"""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from agentbench.core.files import owned_folder
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.base_images import stack_for
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.image_registry import pull_image
from agentbench.sandbox.ownership import KIND, OURS

Progress = Callable[[str], None]
"""Is told, in a line of text, what is going on."""

SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie"}
"""The Debian that brings a Python."""

# patch: what is left of a way to apply predictions whose lines have moved, as SWE-bench does.
_PACKAGES = "ca-certificates,git,patch,python3,python3-pip,python3-venv"
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
_MADE_AT = "1735689600"  # so that the same packages give the same image
_BOOTSTRAP_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImageSource:
    """An image to build on."""

    kind: str  # part of the recipe's hash
    python: str
    fetch: Callable[[Engine, Progress], str]
    """Makes it be there and returns its name; raises SandboxError or OSError with the reason."""


def base_image_sources(python: str) -> tuple[BaseImageSource, ...]:
    """The ways to a base with this Python, best one first."""
    ways = [
        BaseImageSource(
            kind=f"slim-{python}", python=python, fetch=lambda e, p: _fetch_slim(e, p, python)
        )
    ]
    if (suite := SUITES.get(python)) is not None:
        ways.append(
            BaseImageSource(
                kind=f"debian-{suite}", python=python, fetch=lambda e, p: _make_debian(e, p, suite)
            )
        )
    return tuple(ways)


def pull(engine: Engine, image: str, progress: Progress) -> None:
    """Get an image from a registry that begins to answer soon.

    Raises:
        SandboxError: it does not, or it has not got the image.
    """
    progress(f"pulling {image}")
    pull_image(engine, image)


def _fetch_slim(engine: Engine, progress: Progress, python: str) -> str:
    image = f"python:{python}-slim"
    try:
        engine.image(image)
    except DockerNotFoundError:
        pull(engine, image, progress)
    return image


def _make_debian(engine: Engine, progress: Progress, suite: str) -> str:
    tag = f"{suite}-{hashlib.sha256(_PACKAGES.encode()).hexdigest()[:8]}"
    name = f"agentbench/debian:{tag}"
    try:
        engine.image(name)
    except DockerNotFoundError:
        with owned_folder("agentbench-image-") as folder:
            archive = folder / "root.tar"
            progress(f"making a Debian {suite}; it takes about a minute")
            _bootstrap(suite, archive)
            with engine.api(f"import {name}", moves_files=True) as api:
                api.import_image_from_file(
                    str(archive),
                    repository="agentbench/debian",
                    tag=tag,
                    changes=[f"LABEL {OURS}=1", f"LABEL {KIND}=base"],
                )
    return name


def _bootstrap(suite: str, archive: Path) -> None:
    """Write the tar of a root file system.

    Raises:
        SandboxError: no tool for it is installed, or the one that is fails.
    """
    if tool := shutil.which("mmdebstrap"):
        excludes = [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]
        _call([tool, "--variant=minbase", f"--include={_PACKAGES}", *excludes, suite, str(archive)])
    elif tool := shutil.which("debootstrap"):
        root = archive.with_suffix("")
        _call([tool, "--variant=minbase", f"--include={_PACKAGES}", suite, str(root)])
        _call(["tar", "--numeric-owner", "-C", str(root), "-cf", str(archive), "."])
    else:
        raise SandboxError("neither mmdebstrap nor debootstrap is installed")


def _call(command: list[str]) -> None:
    env = {**os.environ, "SOURCE_DATE_EPOCH": _MADE_AT}
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, env=env, timeout=_BOOTSTRAP_SECONDS
        )
    except (subprocess.SubprocessError, OSError) as fault:
        said = getattr(fault, "stderr", "") or str(fault)
        raise SandboxError(f"{Path(command[0]).name} failed: {said[-500:]}") from fault


_FOLDER = files("agentbench.sandbox.docker") / "image"
_DOWNLOAD_SECONDS = 300


def recipe_hash(base: str, python: str) -> str:
    """Names what an image made by this recipe from a kind of base holds.

    Raises:
        UsageError: there is no recipe for this Python.
    """
    digest = hashlib.sha256(base.encode())
    digest.update(b"\0" + (_FOLDER / "Dockerfile").read_bytes())
    digest.update(b"\0" + "\n".join(stack_for(python)).encode())
    return digest.hexdigest()[:16]


def build_context(python: str) -> bytes:
    """A tar with the Dockerfile and the wheels that it installs, got by pip on this machine.

    Raises:
        UnavailableError: pip is missing, or gets no package index.
        UsageError: there is no recipe for this Python.
    """
    buffer = io.BytesIO()
    with (
        owned_folder("agentbench-image-") as folder,
        tarfile.open(fileobj=buffer, mode="w") as tar,
    ):
        wheels = folder / "wheels"
        wheels.mkdir()
        _download(python, wheels)
        _add(tar, "Dockerfile", (_FOLDER / "Dockerfile").read_bytes())
        for wheel in sorted(wheels.iterdir()):
            _add(tar, f"wheels/{wheel.name}", wheel.read_bytes())
    return buffer.getvalue()


def _download(python: str, folder: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--only-binary", ":all:", "--implementation", "py", "--abi", "none"),
        *("--platform", "any", "--python-version", python),
        *("--dest", str(folder), *stack_for(python)),
    ]
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS
        )
    except subprocess.SubprocessError as fault:
        said = getattr(fault, "stderr", "") or str(fault)
        raise UnavailableError(
            f"the base image's wheels cannot be had by `python -m pip download`: {said[-500:]}"
        ) from fault


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.mode, member.size = 0o644, len(content)
    tar.addfile(member, io.BytesIO(content))
