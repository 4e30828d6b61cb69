"""The folder of crosshair, hypothesis and their requirements, mounted into sandboxes.

If the sandbox's minor version of Python is ours, our installed libraries are copied, since some
have compiled parts; otherwise pip downloads the same versions once. The folder's name contains
the versions, and it appears only when it is complete.
"""

import compileall
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from py_compile import PycInvalidationMode

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agentbench.core.extras import install_command
from agentbench.core.file_locks import SharedLock, creation_lock
from agentbench.errors import UnavailableError
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.sandbox.trees import remove_tree

PROGRAMS_MOUNT = "symbolic"  # the name of the folder of our programs in a sandbox
LIBRARY_MOUNT = "symbolic-library"  # the name of the folder of their libraries in a sandbox
_PROGRAMS_FOLDER = Path(__file__).parent / "mounted"

_FOLDER = "symbolic"
_DISTRIBUTIONS = ("crosshair-tool", "hypothesis")
_FORMAT = 1  # incremented when folders of an older agentbench must not be used
_UNFINISHED = ".new"
_FETCHED_WITHIN = timedelta(minutes=15)
_VERSION_TIMEOUT = timedelta(seconds=60)
_MAX_PIP_OUTPUT = 300  # characters of pip's output

_hold = cache(SharedLock)  # locks a folder against removal until this process ends
PythonVersion = tuple[int, int]  # a minor version of Python: (3, 11)


def symbolic_mounts(cache_dir: Path, python: PythonVersion) -> tuple[ReadOnlyMount, ...]:
    """The mounts to run our programs with a Python."""
    programs = ReadOnlyMount(name=PROGRAMS_MOUNT, source=_PROGRAMS_FOLDER)
    return programs, ReadOnlyMount(
        name=LIBRARY_MOUNT, source=library_folder(cache_dir, python), shared=True
    )


def program_argv(sandbox: Sandbox, program: str) -> tuple[str, ...]:
    """The command that starts one of our programs, isolated from the code under test."""
    programs, library = sandbox.mounted(PROGRAMS_MOUNT), sandbox.mounted(LIBRARY_MOUNT)
    package = programs / "agentbench_mounted"
    return ("python", "-I", "-B", str(package), program, str(library))


def library_folder(cache_dir: Path, python: PythonVersion) -> Path:
    """The folder of libraries for a Python, built if missing."""
    versions = _closure(python)
    folder = cache_dir / _FOLDER / _name(versions, python)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with creation_lock(folder):
        if not folder.is_dir():
            _make(folder, versions, python)
        _hold(folder)
    os.utime(folder)  # the time of the last use
    return folder


def stored_libraries(cache_dir: Path) -> list[Path]:
    """All folders of libraries in the cache."""
    folders = sorted((cache_dir / _FOLDER).glob("*/"))
    return [folder for folder in folders if folder.suffix != _UNFINISHED]


def python_of(sandbox: Sandbox) -> PythonVersion:
    """The minor version of the Python on a sandbox's PATH."""
    version_command = ("python", "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])")
    result = sandbox.run(Command(argv=version_command, timeout=_VERSION_TIMEOUT))
    words = result.stdout.split()
    if not result.ok or len(words) != 2 or not all(map(str.isdecimal, words)):
        raise UnavailableError(
            f"expected a Python in the sandbox that prints its version, found {result.ending}: "
            "give the task an image with Python"
        )
    return int(words[0]), int(words[1])


def _make(folder: Path, versions: Mapping[str, str | None], python: PythonVersion) -> None:
    scratch = folder.with_name(folder.name + _UNFINISHED)
    remove_tree(scratch)  # left by a killed process
    try:
        scratch.mkdir(mode=0o755)
        if python == sys.version_info[:2]:
            _copy(versions, scratch)
        else:
            _fetch(versions, python, scratch)
        scratch.chmod(0o755)
        for path in scratch.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        scratch.rename(folder)
    except OSError as fault:
        raise UnavailableError(f"{folder}: cannot be created: {fault.strerror or fault}") from fault
    finally:
        remove_tree(scratch)


def _copy(versions: Mapping[str, str | None], target: Path) -> None:
    for name in versions:
        found = distribution(name)
        for file in found.files or ():
            source = Path(str(found.locate_file(file)))
            if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
                path = target / file
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, path)
    # The folder is mounted read-only: without byte code, each program would compile it all again.
    unchecked = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(target, quiet=2, invalidation_mode=unchecked)


def _fetch(versions: Mapping[str, str | None], python: PythonVersion, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-compile", "--only-binary=:all:", "--no-deps"]
    command += ["--python-version", _dotted(python), "--target", str(target)]
    command += (name if each is None else f"{name}=={each}" for name, each in versions.items())
    seconds = _FETCHED_WITHIN.total_seconds()
    pip_message = ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        if done.returncode != 0:
            pip_message = (done.stderr.strip().splitlines() or ["nothing"])[-1][:_MAX_PIP_OUTPUT]
    except subprocess.TimeoutExpired:
        pip_message = f"nothing within {seconds:.0f} s"
    if pip_message:
        dotted = _dotted(python)
        raise UnavailableError(
            f"the sandbox has Python {dotted}, agentbench {_dotted(sys.version_info[:2])}; "
            f"{_titled(versions)} were to be fetched for {dotted}, and pip said: {pip_message}; "
            f"run agentbench on Python {dotted}, or where a package index answers"
        )


# The required distributions and all their requirements, with our versions of them.
def _closure(python: PythonVersion) -> dict[str, str | None]:
    dotted = _dotted(python)
    environment = {"python_version": dotted, "python_full_version": f"{dotted}.0", "extra": ""}
    found: dict[str, str | None] = {}
    waiting = list(_DISTRIBUTIONS)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            ours = distribution(name)
        except PackageNotFoundError:
            if name in _DISTRIBUTIONS:
                raise UnavailableError(
                    f"expected {name}, found none: {install_command('symbolic')}"
                ) from None
            found[name] = None  # only another Python needs it
            continue
        found[name] = ours.version
        requires = map(Requirement, ours.requires or [])
        needed = [r for r in requires if r.marker is None or r.marker.evaluate(environment)]
        waiting += (requirement.name for requirement in needed)
    return dict(sorted(found.items()))


def _name(versions: Mapping[str, str | None], python: PythonVersion) -> str:
    known = (f"{name}={version}" for name, version in versions.items())
    parts = [str(_FORMAT), platform.machine(), *known]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return f"{_titled(versions).replace(' ', '-')}-cp{python[0]}{python[1]}-{digest}"


def _titled(versions: Mapping[str, str | None]) -> str:
    return " ".join(f"{name} {versions[name]}" for name in _DISTRIBUTIONS)


def _dotted(python: PythonVersion) -> str:
    return f"{python[0]}.{python[1]}"
