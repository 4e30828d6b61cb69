"""Names out of addresses to places in the runs folder, and never to any other place."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

_RUN_FILE = "run.json"
_LONGEST_NAME = 255  # bytes: what file systems take


class PageNotFoundError(Exception):
    """What an address names is not in the runs folder; the message is for people."""


class RunsFolder:
    """The folder whose runs are shown. What is reached through a symbolic link is not in it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def runs(self) -> list[Path]:
        """The folders of all runs."""
        try:
            with os.scandir(self.root) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:  # not there yet, or not any more
            return []
        folders = (self.root / name for name in names)
        return [folder for folder in folders if _is_plain_file(folder / _RUN_FILE)]

    def run(self, name: str) -> Path:
        """The folder of a run.

        Raises:
            PageNotFoundError: there is no such run.
        """
        folder = self.root / name
        if not (_is_name(name) and _is_plain_folder(folder) and _is_plain_file(folder / _RUN_FILE)):
            raise PageNotFoundError(f"There is no run {name!r} in {self.root}.")
        return folder

    def attempt(self, run: Path, task: str, name: str) -> Path:
        """The folder of an attempt's files.

        Raises:
            PageNotFoundError: there is none.
        """
        folder = run / "attempts" / task / name
        steps = (run / "attempts", run / "attempts" / task, folder)
        if not (_is_name(task) and _is_name(name) and all(map(_is_plain_folder, steps))):
            raise PageNotFoundError(
                f"There is no attempt {name!r} at {task!r} in run {run.name!r}."
            )
        return folder

    def opened(self, path: Path) -> BinaryIO:
        """A regular file below the folder, opened to be read.

        Raises:
            PageNotFoundError: it is not a regular file, or lies elsewhere.
        """
        refusal = PageNotFoundError(f"There is no file {path.name!r} in this place.")
        try:
            if path.resolve(strict=True) != path or not path.is_relative_to(self.root):
                raise refusal
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = open(os.open(path, flags), "rb")  # noqa: SIM115, PTH123 - whoever asked closes it
        except (OSError, RuntimeError, ValueError):  # a link in a circle, a name that none has
            raise refusal from None
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        raise refusal


def _is_name(name: str) -> bool:
    """Whether it names something in a folder, and not another folder."""
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
