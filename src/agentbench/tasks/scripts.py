"""Scripts of a task: a verifier instead of pytest, a solution instead of a patch."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import Field

from agentbench.core.files import FileContent
from agentbench.core.schema import Schema
from agentbench.errors import InputError

VERIFIER_FOLDER: Final = "tests"
"""The folder of the verifier's files in a task; the sandbox that judges has them at /tests."""

SOLUTION_FOLDER: Final = "solution"
"""The files of the reference solution, in the task's folder."""

SOLUTION_MOUNT: Final = PurePosixPath("/solution")
"""Where the oracle's sandbox, and no other one, has those files."""


class Verifier(Schema):
    """How the verifier runs, and the threshold that its reward must exceed."""

    command: str = "/tests/test.sh"
    timeout_s: float = 600.0
    threshold: float = 0.0
    env: dict[str, str] = Field(default_factory=dict)
    network: bool = False
    image: str | None = None  # None: the task's
    dockerfile: str | None = None  # of an own image, relative to the task's folder
    takes: tuple[str, ...] | None = None  # the paths that it judges; None: the whole workspace


class SolutionScript(Schema):
    """How the reference solution runs if it is a script."""

    command: str = "/solution/solve.sh"
    env: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedSolution:
    """A command, its variables, and the folder of its files."""

    command: str
    env: Mapping[str, str]
    folder: Path
    mount_point: PurePosixPath = SOLUTION_MOUNT


def script_files(folder: Path) -> Mapping[PurePosixPath, FileContent]:
    """All files in a folder. Shell scripts are executable, and links are followed.

    Raises:
        InputError: a file cannot be read.
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
        files[name] = FileContent(content=content, executable=executable)
    return files
