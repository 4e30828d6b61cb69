"""What the base image is built on: python-slim from a registry, or a Debian made here."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.owned_folder import owned_folder
from agentbench.sandbox.docker_engine import Engine, NotThereError
from agentbench.sandbox.docker_labels import KIND, OURS
from agentbench.sandbox.docker_registry import pull_image

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
class Base:
    """An image to build on."""

    kind: str  # part of the recipe's hash
    python: str
    fetch: Callable[[Engine, Progress], str]
    """Makes it be there and returns its name; raises SandboxError or OSError with the reason."""


def bases_for(python: str) -> tuple[Base, ...]:
    """The ways to a base with this Python, best one first."""
    ways = [Base(kind=f"slim-{python}", python=python, fetch=lambda e, p: _slim(e, p, python))]
    if (suite := SUITES.get(python)) is not None:
        ways.append(
            Base(kind=f"debian-{suite}", python=python, fetch=lambda e, p: _debian(e, p, suite))
        )
    return tuple(ways)


def pull(engine: Engine, image: str, progress: Progress) -> None:
    """Get an image from a registry that begins to answer soon.

    Raises:
        SandboxError: it does not, or it has not got the image.
    """
    progress(f"pulling {image}")
    pull_image(engine, image)


def _slim(engine: Engine, progress: Progress, python: str) -> str:
    image = f"python:{python}-slim"
    try:
        engine.image(image)
    except NotThereError:
        pull(engine, image, progress)
    return image


def _debian(engine: Engine, progress: Progress, suite: str) -> str:
    tag = f"{suite}-{hashlib.sha256(_PACKAGES.encode()).hexdigest()[:8]}"
    name = f"agentbench/debian:{tag}"
    try:
        engine.image(name)
    except NotThereError:
        with owned_folder("agentbench-image-") as folder:
            archive = folder / "root.tar"
            progress(f"making a Debian {suite}; it takes about a minute")
            _bootstrap(suite, archive)
            with engine.speak(f"import {name}", moves_files=True) as api:
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
