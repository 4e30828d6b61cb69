"""Task folders in other formats: checks of their files, and the working folder of a Dockerfile."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from agentbench.tasks.dataset_rows import Rejection

_MAX_TEXT_BYTES = 4 * 2**20
_MAX_TREE_BYTES = 2**30
_MAX_FILES = 50_000
IGNORED_NAMES: Final = frozenset({".git", "__pycache__", ".DS_Store"})
"""Names of files that are not a part of a task, such as caches."""


def read_text(path: Path) -> str | Rejection:
    """The text of a file of ordinary size, in UTF-8 without a byte order mark."""
    where = str(path)
    try:
        size = path.stat().st_size
        if size > _MAX_TEXT_BYTES:
            return Rejection(where=where, what=f"has {size} bytes, more than {_MAX_TEXT_BYTES}")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return Rejection(where=where, what="is missing")
    except (OSError, UnicodeDecodeError) as error:
        return Rejection(where=where, what=f"cannot be read as UTF-8 text: {error}")
    if text.startswith("\ufeff"):
        return Rejection(where=where, what="begins with a byte order mark; save it without one")
    return text


def script_fault(path: Path) -> Rejection | None:
    """Why a script cannot run: it is missing, or its first line is not understood."""
    text = read_text(path)
    if isinstance(text, Rejection):
        return text
    first = text.partition("\n")[0]
    if first.startswith("#!") and first.endswith("\r"):
        message = "has line ends of Windows, so that nobody finds its interpreter; save it with LF"
        return Rejection(where=str(path), what=message)
    return None


def tree_faults(folder: Path) -> Iterator[Rejection]:
    """Why files must not be copied: links that lead out, special files, too much data."""
    root = Path(os.path.realpath(folder))
    count = size = 0
    for path in _walk(root):
        shown = str(folder / path.relative_to(root))
        status = path.lstat()
        count, size = count + 1, size + status.st_size
        if count > _MAX_FILES or size > _MAX_TREE_BYTES:
            message = f"holds more than {_MAX_FILES} files or {_MAX_TREE_BYTES >> 20} MiB"
            yield Rejection(where=str(folder), what=message)
            return
        if stat.S_ISLNK(status.st_mode):
            if path.readlink().is_absolute() or not _real(path).is_relative_to(root):
                yield Rejection(where=shown, what="is a symlink that leaves the task's folder")
        elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            yield Rejection(where=shown, what="is neither a file nor a folder")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _walk(folder: Path) -> Iterator[Path]:
    """All entries in a folder except ignored ones; no link is followed."""
    for path in sorted(folder.iterdir()):
        if path.name in IGNORED_NAMES:
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


_LINE_CONTINUATION = re.compile(r"\\[ \t]*\r?\n")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*(FROM|WORKDIR)\s+(.+?)\s*$", re.IGNORECASE)
_OPTION = re.compile(r"--\S+\s+")


def dockerfile_workdir(dockerfile: str) -> PurePosixPath | None:
    """The WORKDIR of a Dockerfile's last stage; None: its base image decides.

    Raises:
        ValueError: it depends on a variable; the text says which line.
    """
    stages: dict[str, PurePosixPath | None] = {}
    found: PurePosixPath | None = None
    name = ""
    for line in _LINE_CONTINUATION.sub(" ", _COMMENT.sub("", dockerfile)).splitlines():
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        if instruction[1].upper() == "FROM":
            stages[name] = found
            base, _, name = _OPTION.sub("", instruction[2]).partition(" ")
            name = name.split()[-1].lower() if name else ""
            found = stages.get(base.lower())
        else:
            found = (found or PurePosixPath("/")) / _literal_path(instruction[2], line)
    return found


def _literal_path(text: str, line: str) -> str:
    if "$" in text:
        raise ValueError(f"{line.strip()[:80]!r} depends on a variable")
    return text.strip("\"'")
