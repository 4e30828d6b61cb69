"""The virtual environment that stands in for an image: made once a Python, then only copied."""

import hashlib
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.host_python import HostPython, install_pytest, pytest_version
from agentbench.sandbox.interface import Command, ImageId, Sandbox
from agentbench.sandbox.rooms import Rooms
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import Owner

_RECIPE = "1"  # to be counted up when what is made below changes
_MADE_WITHIN = timedelta(minutes=5)
# Leaves the byte-code of all that a test run imports, so that no sandbox compiles it again.
_WARM_UP = (
    'cd "$(mktemp -d)" && echo "def test_it(): assert 1" > test_it.py '
    "&& python -m pytest -q test_it.py && python -m pip --version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseEnvironments:
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
        from agentbench.file_lock import FileLock

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
    sandbox: Sandbox, python: HostPython, rooms: Rooms, venv: PurePosixPath, owner: Owner | None
) -> None:
    """Make a virtual environment with pytest in an empty sandbox, without a network.

    Raises:
        SandboxError: Python has no venv module, or pytest does not run in what was made.
        OSError: the disk is full.
    """
    make = f"{shlex.quote(str(python.executable))} -I -m venv"
    place = shlex.quote(str(venv))
    # Debian may lack what `venv` takes pip from; then it is copied like pytest.
    _demand(sandbox, f"{make} {place} || {make} --clear --without-pip {place}")
    _give_away(install_pytest(rooms.venv, seen_as=Path(venv)), owner)
    _demand(sandbox, _WARM_UP)


def _demand(sandbox: Sandbox, script: str) -> None:
    result = sandbox.run(Command(argv=("sh", "-c", script), timeout=_MADE_WITHIN))
    if not result.ok:
        said = (result.stderr or result.stdout).strip()[-800:]
        raise SandboxError(f"`{script}` did not work ({result.ending}): {said}")


def _give_away(paths: list[Path], owner: Owner | None) -> None:
    for path in paths:
        if owner is not None:
            os.lchown(path, owner.uid, owner.gid)
