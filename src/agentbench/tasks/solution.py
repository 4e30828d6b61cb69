"""What the oracle is handed of a task whose reference solution is a script."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import InputError
from agentbench.tasks.patched_file import PatchedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedSolution:
    """A command, its variables, and the folder of its files."""

    command: str
    env: Mapping[str, str]
    folder: Path
    place: PurePosixPath = PurePosixPath("/solution")  # where they are, in the oracle's sandbox


def files_of(folder: Path) -> Mapping[PurePosixPath, PatchedFile]:
    """All files below a folder, shell scripts executable; what a link leads to takes its place.

    Raises:
        InputError: one of them cannot be read.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        try:
            content, mode = path.read_bytes(), path.stat().st_mode
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        executable = path.suffix == ".sh" or bool(mode & stat.S_IXUSR)
        name = PurePosixPath(path.relative_to(folder).as_posix())
        files[name] = PatchedFile(content=content, executable=executable)
    return files
