"""The recipe of the base image: its Dockerfile, what goes into it, and their hash."""

import hashlib
import io
import subprocess
import sys
import tarfile
from importlib.resources import files
from pathlib import Path

from agentbench.errors import UnavailableError
from agentbench.owned_folder import owned_folder
from agentbench.sandbox.pytest_stack import stack_for

_FOLDER = files("agentbench.sandbox") / "image"
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
