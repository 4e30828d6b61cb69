"""The files of a task's folder in somebody else's format, looked at before any is copied."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentbench.tasks.importers.refusal import Refusal

_TEXT_BYTES = 4 * 2**20
_TREE_BYTES = 2**30
_FILES = 50_000
LEFT_OUT: Final = frozenset({".git", "__pycache__", ".DS_Store"})
"""Names that are no part of a task: what working on it leaves behind."""


def read_text(path: Path) -> str | Refusal:
    """A text file of ordinary size, in UTF-8 without a byte order mark."""
    where = str(path)
    try:
        size = path.stat().st_size
        if size > _TEXT_BYTES:
            return Refusal(where=where, what=f"has {size} bytes, more than {_TEXT_BYTES}")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return Refusal(where=where, what="is missing")
    except (OSError, UnicodeDecodeError) as error:
        return Refusal(where=where, what=f"cannot be read as UTF-8 text: {error}")
    if text.startswith("\ufeff"):
        return Refusal(where=where, what="begins with a byte order mark; save it without one")
    return text


def script_fault(path: Path) -> Refusal | None:
    """Why a script cannot be run: it is not there, or no shell would understand its first line."""
    text = read_text(path)
    if isinstance(text, Refusal):
        return text
    first = text.partition("\n")[0]
    if first.startswith("#!") and first.endswith("\r"):
        said = "has line ends of Windows, so that nobody finds its interpreter; save it with LF"
        return Refusal(where=str(path), what=said)
    return None


def tree_faults(folder: Path) -> Iterator[Refusal]:
    """What must not be copied: links that lead out, what is no file, more than a task may be."""
    root = Path(os.path.realpath(folder))
    count = size = 0
    for path in _walk(root):
        shown = str(folder / path.relative_to(root))
        status = path.lstat()
        count, size = count + 1, size + status.st_size
        if count > _FILES or size > _TREE_BYTES:
            said = f"holds more than {_FILES} files or {_TREE_BYTES >> 20} MiB"
            yield Refusal(where=str(folder), what=said)
            return
        if stat.S_ISLNK(status.st_mode):
            if path.readlink().is_absolute() or not _real(path).is_relative_to(root):
                yield Refusal(where=shown, what="is a symlink that leaves the task's folder")
        elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            yield Refusal(where=shown, what="is neither a file nor a folder")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _walk(folder: Path) -> Iterator[Path]:
    """Everything below a folder but what is left out; no link is followed."""
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT:
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
