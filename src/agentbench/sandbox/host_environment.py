"""What sandboxes without images borrow from this machine.

An unprivileged user, its Python, and a virtual environment that stands in for an image.
"""

import hashlib
import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.folder_sandbox import SandboxFolders
from agentbench.sandbox.interface import Command, ImageId, Sandbox
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import FileOwner

# Assigned to nobody by Debian's policy and by systemd, and mapped in rootless containers too.
_UNASSIGNED = range(60706, 61184)


def sandbox_user() -> FileOwner | None:
    """A user without a name, or None where the harness itself has no privileges to drop."""
    if os.geteuid() != 0:
        return None
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    uid = next(number for number in _UNASSIGNED if number not in taken)
    return FileOwner(uid=uid, gid=uid)


def can_reach(user: FileOwner | None, path: Path) -> bool:
    """Whether a user gets to a path by its name: every folder above it lets others through."""
    if user is None:
        return os.access(path, os.R_OK | os.X_OK)
    real = path.resolve()
    return real.exists() and all(folder.stat().st_mode & 0o001 for folder in (real, *real.parents))


_DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_INSTALLER = ("pip", "setuptools")  # what `venv` brings where the system has not split it off
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {main}\nsys.exit({main}())\n"
_SCRIPTS = {
    "pytest": ("pytest", "console_main"),
    "py.test": ("pytest", "console_main"),
    "pip": ("pip._internal.cli.main", "main"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """An interpreter outside any virtual environment."""

    prefix: Path
    executable: Path
    version: str  # "3.11"
    full_version: str

    @property
    def image_name(self) -> str:
        """What a task calls a base image of this version."""
        return f"agentbench/python:{self.version}"


def host_python() -> HostPython:
    """The interpreter that runs the harness, without the environment it may run in."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    prefix = Path(sys.base_prefix)
    return HostPython(
        prefix=prefix,
        executable=prefix / "bin" / f"python{version}",
        version=version,
        full_version=sys.version.split()[0],
    )


def pytest_version() -> str:
    """The version of pytest that environments are given."""
    from importlib.metadata import version

    return version("pytest")


def install_pytest(venv: Path, *, seen_as: Path) -> list[Path]:
    """Copy pytest and what it needs from the harness's own environment, without a network.

    Pip comes along where `venv` did not bring it, as on a Debian without python3-venv.

    Args:
        venv: A virtual environment of this Python.
        seen_as: The path under which programs will see that environment.

    Returns:
        All files and folders that were made.

    Raises:
        OSError: the environment cannot be written.
    """
    (purelib,) = (venv / "lib").glob("python3*/site-packages")
    missing = () if (purelib / "pip").is_dir() else _INSTALLER
    made: dict[Path, None] = {}
    for name in (*_DISTRIBUTIONS, *missing):
        for target in _copied(name, purelib):
            made[target] = None
            made.update((folder, None) for folder in target.parents if purelib in folder.parents)
    for script, (module, main) in _SCRIPTS.items():
        path = venv / "bin" / script
        if not path.exists():
            python = seen_as / "bin" / "python"
            path.write_text(_SCRIPT.format(python=python, module=module, main=main))
            path.chmod(0o755)
            made[path] = None
    return list(made)


def _copied(name: str, purelib: Path) -> Iterator[Path]:
    """Copy a distribution, if the harness's own environment has it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for file in found.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = purelib / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(found.locate_file(file)), target)
        yield target


_RECIPE = "1"  # to be counted up when what is made below changes
_MADE_WITHIN = timedelta(minutes=5)
# Leaves the byte-code of all that a test run imports, so that no sandbox compiles it again.
_WARM_UP = (
    'cd "$(mktemp -d)" && echo "def test_it(): assert 1" > test_it.py '
    "&& python -m pytest -q test_it.py && python -m pip --version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStore:
    """The environments of one back end, kept as snapshots with an empty workspace."""

    store: SnapshotStore
    python: HostPython
    back_end: str

    def resolve(
        self,
        image: str | None,
        dockerfile: Path | None,
        make: Callable[[str], object],
        workdir: PurePosixPath | None = None,
    ) -> ImageId:
        """The id of the environment that goes by an image's name, made now if need be.

        Args:
            image: None, or the name that a base image of this very Python would have.
            dockerfile: Refused: there is no engine to build it.
            make: Saves an environment under the key it is handed; not called for one that exists.
            workdir: Refused: no file system here has such a folder of its own.

        Raises:
            UnavailableError: this back end cannot have that image, or making it failed.
        """
        if dockerfile is not None or image not in (None, self.python.image_name):
            raise UnavailableError(
                f"{self.back_end} has the Python of this machine only, {self.python.image_name}, "
                f"not {dockerfile or image}: use a container engine for it, --sandbox docker"
            )
        if workdir is not None:
            raise UnavailableError(
                f"{self.back_end} has no image with the folders that a script of the task's own "
                f"knows ({workdir}, /tests, /logs): use a container engine, --sandbox docker"
            )
        key = self._key()
        if self.store.find(key) is None:
            self._make(key, make)
        return ImageId(self.store.id_of(key))

    def _make(self, key: str, make: Callable[[str], object]) -> None:
        from agentbench.core.file_locks import FileLock

        self.store.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.store.folder / f".{key}.lock"):
            if self.store.find(key) is None:
                try:
                    make(key)
                except (OSError, SandboxError) as fault:
                    raise UnavailableError(f"no virtual environment was made: {fault}") from fault

    def _key(self) -> str:
        owner = "" if self.store.owner is None else str(self.store.owner.uid)
        facts = (_RECIPE, self.python.full_version, str(self.python.prefix), owner)
        digest = hashlib.sha256("\n".join((*facts, pytest_version())).encode()).hexdigest()
        return f"python{self.python.version.replace('.', '-')}-{digest[:16]}"


def make_environment(
    sandbox: Sandbox,
    python: HostPython,
    rooms: SandboxFolders,
    venv: PurePosixPath,
    owner: FileOwner | None,
) -> None:
    """Make a virtual environment with pytest in an empty sandbox, without a network.

    Raises:
        SandboxError: Python has no venv module, or pytest does not run in what was made.
        OSError: the disk is full.
    """
    make = f"{shlex.quote(str(python.executable))} -I -m venv"
    place = shlex.quote(str(venv))
    # Debian may lack what `venv` takes pip from; then it is copied like pytest.
    _run_checked(sandbox, f"{make} {place} || {make} --clear --without-pip {place}")
    paths = install_pytest(rooms.venv, seen_as=Path(venv))
    for path in paths:
        if owner is not None:
            os.lchown(path, owner.uid, owner.gid)
    _run_checked(sandbox, _WARM_UP)


def _run_checked(sandbox: Sandbox, script: str) -> None:
    result = sandbox.run(Command(argv=("sh", "-c", script), timeout=_MADE_WITHIN))
    if not result.ok:
        said = (result.stderr or result.stdout).strip()[-800:]
        raise SandboxError(f"`{script}` did not work ({result.ending}): {said}")
