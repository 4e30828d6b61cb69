"""The recipe of a base image: its source image, its Dockerfile and its wheels."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path, PurePosixPath

from agentbench.core.files import FileContent, owned_folder
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import pull_image
from agentbench.sandbox.ownership import KIND, OURS
from agentbench.sandbox.python_stacks import stack_for
from agentbench.sandbox.toolchains import SUITES, Toolchain

Progress = Callable[[str], None]
"""Receives lines of text about the progress."""

# patch applies predictions whose lines have moved, as SWE-bench does.
_PACKAGES = "ca-certificates,git,patch,python3,python3-pip,python3-venv"
_EXCLUDED = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
_SOURCE_DATE = "1735689600"  # so that the same packages result in the same image
_BOOTSTRAP_SECONDS = 1800
_FOLDER = resources.files("agentbench.sandbox.docker") / "image"
_DOWNLOAD_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImageSource:
    """An image to build a base image from."""

    kind: str  # part of the recipe's hash
    fetch: Callable[[Engine, Progress], str]
    """Pulls or creates it, and returns its name; raises SandboxError or OSError."""
    packages: tuple[str, ...] = ()
    """What it lacks of the tools that the base image has."""


def base_image_sources(
    python: str, toolchain: Toolchain | None = None
) -> tuple[BaseImageSource, ...]:
    """The possible sources with this Python and some tools, the best one first."""
    packages = toolchain.packages if toolchain is not None else ()
    suite = SUITES.get(python)
    name, tools = f"{python}-slim", ""
    if toolchain is not None:
        # The packages are those of a release, so that the image has to be of this one.
        name += f"-{toolchain.suite}"
        tools = f"-tools-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    slim = BaseImageSource(
        kind=f"slim-{name.replace('-slim', '')}{tools}",
        fetch=partial(_fetch_slim, name),
        packages=packages,
    )
    if suite is None or (toolchain is not None and toolchain.suite != suite):
        return (slim,)
    fetch = partial(_make_debian, suite, packages)
    return (slim, BaseImageSource(kind=f"debian-{suite}{tools}", fetch=fetch))


def _fetch_slim(name: str, engine: Engine, progress: Progress) -> str:
    image = f"python:{name}"
    try:
        engine.image(image)
    except DockerNotFoundError:
        progress(f"pulling {image}")
        pull_image(engine, image)
    return image


def _make_debian(suite: str, packages: tuple[str, ...], engine: Engine, progress: Progress) -> str:
    included = ",".join((_PACKAGES, *packages))
    tag = f"{suite}-{hashlib.sha256(included.encode()).hexdigest()[:8]}"
    name = f"agentbench/debian:{tag}"
    try:
        engine.image(name)
    except DockerNotFoundError:
        pass
    else:
        return name
    with owned_folder("agentbench-image-") as folder:
        archive = folder / "root.tar"
        minutes = "about a minute" if not packages else "some minutes"
        progress(f"creating a Debian {suite} ({minutes})")
        if tool := shutil.which("mmdebstrap"):
            excludes = [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
            # Without this folder, which the manual pages would make, Java's scripts fail.
            hook = '--essential-hook=mkdir -p "$1/usr/share/man/man1"'
            options = ["--variant=minbase", f"--include={included}", *excludes]
            _call([tool, *options, *([hook] if packages else []), suite, str(archive)])
        elif tool := shutil.which("debootstrap"):
            root = str(folder / "root")
            _call([tool, "--variant=minbase", f"--include={included}", suite, root])
            _call(["tar", "--numeric-owner", "-C", root, "-cf", str(archive), "."])
        else:
            raise SandboxError("neither mmdebstrap nor debootstrap is installed")
        with engine.api(f"import {name}", moves_files=True) as api:
            api.import_image_from_file(
                str(archive),
                repository="agentbench/debian",
                tag=tag,
                changes=[f"LABEL {OURS}=1", f"LABEL {KIND}=base"],
            )
    return name


def _call(command: list[str], seconds: int = _BOOTSTRAP_SECONDS) -> None:
    env = {**os.environ, "SOURCE_DATE_EPOCH": _SOURCE_DATE}
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, env=env, timeout=seconds
        )
    except (subprocess.SubprocessError, OSError) as fault:
        output = getattr(fault, "stderr", "") or str(fault)
        raise SandboxError(f"{Path(command[0]).name} failed: {output[-500:]}") from fault


def recipe_hash(base: str, python: str) -> str:
    """A hash of the content of an image with this Python from a kind of base.

    Raises:
        UsageError: there is no recipe for this Python.
    """
    digest = hashlib.sha256(base.encode())
    digest.update(b"\0" + (_FOLDER / "Dockerfile").read_bytes())
    digest.update(b"\0" + "\n".join(stack_for(python)).encode())
    return digest.hexdigest()[:16]


def build_context(python: str) -> bytes:
    """A tar with the Dockerfile and its wheels, downloaded by pip on this machine.

    Raises:
        UnavailableError: pip is missing, or cannot reach a package index.
        UsageError: there is no recipe for this Python.
    """
    contents = {"Dockerfile": (_FOLDER / "Dockerfile").read_bytes()}
    with owned_folder("agentbench-image-") as folder:
        wheels = folder / "wheels"
        wheels.mkdir()
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--only-binary", ":all:", "--implementation", "py", "--abi", "none"),
            *("--platform", "any", "--python-version", python),
            *("--dest", str(wheels), *stack_for(python)),
        ]
        try:
            _call(command, _DOWNLOAD_SECONDS)
        except SandboxError as fault:
            raise UnavailableError(
                f"cannot download the base image's wheels by `python -m pip download`: {fault}"
            ) from fault
        contents |= {f"wheels/{path.name}": path.read_bytes() for path in sorted(wheels.iterdir())}
    files = {
        PurePosixPath(name): FileContent(content=content, executable=False)
        for name, content in contents.items()
    }
    return tar_of_files(files)
