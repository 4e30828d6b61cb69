"""Resolves names in addresses to paths inside of the runs folder."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

RUN_FILE = "run.json"
_LONGEST_NAME = 255  # bytes, the limit of file systems


class PageNotFoundError(Exception):
    """The path in an address does not exist; the message is for people."""


class RunsFolder:
    """The folder of runs, without anything behind symbolic links."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def runs(self) -> list[Path]:
        try:
            with os.scandir(self.root) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:  # it does not exist yet, or not any more
            return []
        folders = (self.root / name for name in names)
        return [folder for folder in folders if _is_plain_file(folder / RUN_FILE)]

    def run(self, name: str) -> Path:
        """The folder of a run.

        Raises:
            PageNotFoundError: the run does not exist.
        """
        folder = self.root / name
        is_run = _is_plain_folder(folder) and _is_plain_file(folder / RUN_FILE)
        if not (_is_name(name) and is_run):
            raise PageNotFoundError(f"There is no run {name!r} in {self.root}.")
        return folder

    def attempt(self, run: Path, task: str, name: str) -> Path:
        """The folder of an attempt's files.

        Raises:
            PageNotFoundError: it does not exist.
        """
        folder = run / "attempts" / task / name
        steps = (run / "attempts", run / "attempts" / task, folder)
        if not (_is_name(task) and _is_name(name) and all(map(_is_plain_folder, steps))):
            raise PageNotFoundError(
                f"There is no attempt {name!r} at {task!r} in run {run.name!r}."
            )
        return folder

    def opened(self, path: Path) -> BinaryIO:
        """A regular file in the folder, opened for reading.

        Raises:
            PageNotFoundError: it is not a regular file, or is outside of the folder.
        """
        file = self.find_file(path)
        if file is None:
            raise PageNotFoundError(f"There is no file {path.name!r} here.")
        return file

    def find_file(self, path: Path) -> BinaryIO | None:
        """A regular file in the folder, opened for reading; None if there is none."""
        try:
            if path.resolve(strict=True) != path or not path.is_relative_to(self.root):
                return None
            # An agent's files may be links out of the folder, or pipes that block a reader.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = open(os.open(path, flags), "rb")  # noqa: SIM115, PTH123 - whoever asked closes it
        except (OSError, RuntimeError, ValueError):  # a circular link, or an invalid name
            return None
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        return None


def _is_name(name: str) -> bool:
    if name in {"", ".", ".."} or any(char in name for char in "/\\\0"):
        return False
    return len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME


def _is_plain_folder(path: Path) -> bool:
    return _file_type(path) == stat.S_IFDIR


def _is_plain_file(path: Path) -> bool:
    return _file_type(path) == stat.S_IFREG


def _file_type(path: Path) -> int:
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except (OSError, ValueError):
        return 0
