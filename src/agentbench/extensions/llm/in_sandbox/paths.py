"""Opens files of a workspace, and none outside it.

A path is resolved once, links and all; then each part of the result is opened below the one before,
and no link is followed any more: whatever is swapped in between is refused.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

SIZE_LIMIT = 10 * 1024 * 1024
"""Bytes of a file that is read or edited."""


class RefusedError(Exception):
    """Says to the model what was wrong; tools raise it, or an OSError."""


def printable(name: str) -> str:
    """A name that others chose, on one line."""
    return name if name.isprintable() else ascii(name)


def parts_below(root: str, path: str) -> "tuple[str, ...]":
    """Where a path leads, as the parts below the root.

    Raises:
        RefusedError: it leads out of the root.
    """
    if "\0" in path:
        raise RefusedError("a path cannot hold a NUL character")
    root = os.path.realpath(root)
    full = os.path.realpath(Path(root, path))
    if full == root:
        return ()
    if not full.startswith(root + os.sep):
        raise RefusedError(f"{printable(path)} leads out of the workspace; give a path inside it")
    return Path(full).relative_to(root).parts


def open_below(root: str, parts: "tuple[str, ...]", flags: int, *, make: bool = False) -> int:
    """A descriptor of what the parts lead to, no link among them; with `make`, folders are made.

    Raises:
        OSError: a part is missing, is a link, or is no folder.
    """
    descriptor = os.open(os.path.realpath(root), FOLDER_FLAGS)
    for number, part in enumerate(parts, 1):
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
            deeper = os.open(
                part, flags if number == len(parts) else FOLDER_FLAGS, dir_fd=descriptor
            )
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def read_text_file(root: str, path: str) -> bytes:
    """The bytes of a text file.

    Raises:
        RefusedError: it is outside, too large, binary or no regular file.
        OSError: it cannot be opened.
    """
    handle = open_below(root, parts_below(root, path), FILE_FLAGS)
    try:
        _refuse_if_no_text(os.fstat(handle), path)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(SIZE_LIMIT)
    finally:
        os.close(handle)
    if b"\0" in content:
        raise RefusedError(f"{printable(path)} is a binary file of {len(content)} bytes")
    return content


def write_file(root: str, path: str, content: bytes) -> None:
    """Put content in the place of a file, wholly or not at all; missing folders are made.

    Raises:
        RefusedError: it is outside.
        OSError: it cannot be written.
    """
    *folders, name = parts_below(root, path) or ("",)
    if not name:
        raise RefusedError("the workspace itself is no file")
    folder = open_below(root, tuple(folders), FOLDER_FLAGS, make=True)
    draft = f".agentbench-{secrets.token_hex(8)}"
    try:
        handle = os.open(draft, _NEW_FILE_FLAGS, 0o600, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, _mode(name, folder))
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    finally:
        os.close(folder)


def _mode(name: str, folder: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0o644


def _refuse_if_no_text(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise RefusedError(f"{printable(path)} is a folder; list_files shows what is in it")
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"{printable(path)} is not a regular file")
    if status.st_size > SIZE_LIMIT:
        size = f"{status.st_size} bytes, more than {SIZE_LIMIT}"
        raise RefusedError(f"{printable(path)} has {size}; use run with head, tail, grep or sed")
