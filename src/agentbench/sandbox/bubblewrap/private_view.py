"""Gives each sandbox inodes and kernel files of its own, so that sandboxes share no locks.

Folders of the system get an overlay, whose inodes have their own locks and watches. Files are
copied. Device files are created by root; other users must bind those of the machine.
"""

import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from agentbench.sandbox.bubblewrap.profile import (
    BindMount,
    OverlayMount,
    ReachablePaths,
    ReadOnlyOverlay,
)
from agentbench.sandbox.bubblewrap.program import DEVICES, MountNamespace
from agentbench.sandbox.interface import ReadOnlyMount
from agentbench.sandbox.kernel_view import HIDDEN_IN_PROC, private_copies, stand_ins

_EMPTY_FOLDER, _EMPTY_FILE = "empty", "nothing"
_PROC, _MOUNTS, _SYSTEM = "proc", "mounts", "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateView:
    """The private files of one sandbox, in a folder of which it sees only parts."""

    folder: Path
    overlays: bool  # whether folders can be overlaid

    @classmethod
    def create(cls, folder: Path, *, overlays: bool) -> Self:
        """Create the folder.

        Raises:
            OSError: it exists, or the disk is full.
        """
        for path in (folder, *(folder / name for name in (_EMPTY_FOLDER, _MOUNTS, _SYSTEM, _PROC))):
            path.mkdir()
            path.chmod(0o755)
        return cls(folder=folder, overlays=overlays)

    def mounts(self, mounts: Iterable[ReadOnlyMount]) -> tuple[ReadOnlyMount, ...]:
        """The mounts, from private copies.

        Raises:
            OSError: a source cannot be read, or the disk is full.
        """
        return tuple(private_copies(mounts, self.folder / _MOUNTS))

    def of_system(
        self, binds: Iterable[BindMount]
    ) -> Iterator[BindMount | OverlayMount | ReadOnlyOverlay]:
        """Files and folders of the system, with inodes of their own.

        Raises:
            OSError: a file cannot be copied.
        """
        for bind in binds:
            if not bind.source.is_dir():
                copy = self.folder / _SYSTEM / bind.target.name
                shutil.copyfile(bind.source, copy)
                copy.chmod(0o644)
                yield BindMount(source=copy, target=bind.target)
            elif self.overlays:
                empty = self.folder / _EMPTY_FOLDER
                yield ReadOnlyOverlay(lower=bind.source, empty=empty, target=bind.target)
            else:
                yield bind

    def kernel_arguments(self, memory_mib: int, reachable: ReachablePaths) -> list[str]:
        """The arguments that hide files in /proc, and replace others.

        Raises:
            OSError: the files cannot be written.
        """
        folder = reachable.of(self.folder)
        (self.folder / _EMPTY_FILE).touch()
        (self.folder / _EMPTY_FILE).chmod(0o444)
        arguments: list[str] = []
        contents = stand_ins(memory_mib)
        for path, is_folder in hidden_paths():
            empty = folder / (_EMPTY_FOLDER if is_folder else _EMPTY_FILE)
            if path.removeprefix("/proc/") not in contents:
                arguments += ["--ro-bind", str(empty), path]
        for name, content in contents.items():
            (self.folder / _PROC / name).write_bytes(content)
            (self.folder / _PROC / name).chmod(0o444)
            arguments += ["--ro-bind", str(folder / _PROC / name), f"/proc/{name}"]
        return arguments


def device_arguments(namespace: MountNamespace | None, stack: ExitStack) -> list[str]:
    """The arguments for device files that no other sandbox has."""
    arguments: list[str] = []
    if namespace is not None:
        with suppress(PermissionError):  # as in a container without CAP_MKNOD
            devices = namespace.create_devices()
            stack.callback(namespace.remove_devices, devices)
            for name in DEVICES:
                arguments += ["--dev-bind", str(devices / name), f"/dev/{name}"]
    return arguments


@cache
def hidden_paths() -> tuple[tuple[str, bool], ...]:
    """The files and folders in /proc that a user could read, and whether each is a folder."""
    found: list[tuple[str, bool]] = []
    for path in HIDDEN_IN_PROC:
        with suppress(OSError):
            mode = Path(path).stat().st_mode
            if mode & stat.S_IROTH:
                found.append((path, stat.S_ISDIR(mode)))
    return tuple(found)
