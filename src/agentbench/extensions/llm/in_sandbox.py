"""Reads and edits text files of a workspace, and none outside it: a program for the sandbox.

Its source is sent with each call. It needs Python 3.7, and nothing of agentbench.

A path is resolved once, links and all; then each part of the result is opened below the one before,
and no link is followed any more: whatever is swapped in between is refused.
"""

import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

SIZE_LIMIT = 10 * 1024 * 1024
"""Bytes of a file that is read or edited."""
MAX_ANSWER_LENGTH = 30_000
"""Characters of an answer."""

_MAX_LINE_LENGTH = 2_000  # characters
_NUMBER_WIDTH = 8  # characters for a line's number
_MAX_LINE_NUMBERS = 10  # line numbers


class RefusedError(Exception):
    """Says to the model what was wrong; tools raise it, or an OSError."""


def printable(name: str) -> str:
    """A name that others chose, on one line."""
    return name if name.isprintable() else ascii(name)


def parts_below(root: str, path: str) -> "tuple[str, ...]":
    """Where a path leads, as the parts below the root."""
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
    """The bytes of a text file."""
    handle = open_below(root, parts_below(root, path), FILE_FLAGS)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise RefusedError(f"{printable(path)} is a folder; `ls` shows what is in it")
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError(f"{printable(path)} is not a regular file")
        if status.st_size > SIZE_LIMIT:
            size = f"{status.st_size} bytes, more than {SIZE_LIMIT}"
            raise RefusedError(
                f"{printable(path)} has {size}; use run with head, tail, grep or sed"
            )
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
    # Renamed into its place, so that a killed call leaves the old file whole.
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


def read_file(root: str, path: str, start_line: int = 1, end_line: "int | None" = None) -> str:
    """Lines of a file, both ends included.

    Raises:
        RefusedError: there is no such line, or no such text file in the workspace.
    """
    content = read_text_file(root, path)
    if not content:
        return f"{printable(path)} is empty"
    lines = content.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    if start_line > len(lines):
        raise RefusedError(f"{printable(path)} ends with line {len(lines)}; no line {start_line}")
    requested = lines[start_line - 1 : end_line]
    numbered = list(_as_many_as_fit(requested, start_line))
    end = start_line + len(numbered) - 1
    head = [f"{printable(path)}: lines {start_line}-{end} of {len(lines)}", *_remarks(content)]
    remaining = len(requested) - len(numbered)
    tail = [f"[{remaining} more lines; go on with start_line={end + 1}]"] if remaining else []
    return "\n".join([", ".join(head), *numbered, *tail])


def shorten_line(line: str) -> str:
    """A line of bearable length."""
    if len(line) <= _MAX_LINE_LENGTH:
        return line
    return f"{line[:_MAX_LINE_LENGTH]}[... {len(line) - _MAX_LINE_LENGTH} more characters]"


def _as_many_as_fit(lines: "list[str]", first: int) -> "Iterator[str]":
    size = 0
    for number, line in enumerate(lines, first):
        text = shorten_line(line[:-1] if line.endswith("\r") else line)
        size += len(text) + _NUMBER_WIDTH
        if size > MAX_ANSWER_LENGTH:
            return
        yield f"{number:>6}\t{text}"


def _remarks(content: bytes) -> "Iterator[str]":
    crlf = content.count(b"\r\n")
    if crlf:
        mixed = crlf != content.count(b"\n")
        yield "line endings mixed" if mixed else "CRLF line endings, which edit keeps"
    if not content.endswith(b"\n"):
        yield "no newline at the end"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"no UTF-8 from byte {error.start} on, shown as U+FFFD and kept by edit"


def edit(root: str, path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:  # noqa: FBT001, FBT002 - as the tool's arguments have it
    """Replace a text that occurs once, or everywhere; with no old text, fill a new file.

    Raises:
        RefusedError: it does not occur, or too often, or this is no text file of the workspace.
    """
    if not old_text:
        try:
            known = read_text_file(root, path)
        except FileNotFoundError:
            known = b""
        if known:
            raise RefusedError(
                f"{printable(path)} already exists; an empty old_text makes a new file"
            )
        write_file(root, path, new_text.encode())
        return f"{printable(path)}: written, {len(new_text.encode())} bytes"
    before = read_text_file(root, path).decode("utf-8", "surrogateescape")
    after, count = replace_text(before, old_text, new_text, replace_all=replace_all)
    write_file(root, path, after.encode("utf-8", "surrogateescape"))
    return f"{printable(path)}: replaced {count} occurrence{'s' if count > 1 else ''}"


def replace_text(text: str, old: str, new: str, *, replace_all: bool) -> "tuple[str, int]":
    r"""The text with a part of it exchanged, and how often.

    Where nothing is equal to the letter, `\n` in the old text fits `\r\n` as well. The new text
    takes on the line endings that most lines have.
    """
    if old == new:
        raise RefusedError("old_text and new_text are the same")
    spans = _match_spans(text, old)
    if not spans:
        raise RefusedError(f"old_text does not occur in the file{_hint(text, old)}")
    if len(spans) > 1 and not replace_all:
        lines = [str(text.count("\n", 0, start) + 1) for start, _ in spans[:_MAX_LINE_NUMBERS]]
        numbers = ", ".join(lines) + (", …" if len(spans) > _MAX_LINE_NUMBERS else "")
        raise RefusedError(
            f"old_text occurs {len(spans)} times (from lines {numbers}): take in more of the lines "
            "around the one that is meant, or set replace_all"
        )
    if 2 * text.count("\r\n") > text.count("\n"):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    pieces, position, count = [], 0, 0
    for start, end in spans:
        if start >= position:
            pieces += [text[position:start], new]
            position, count = end, count + 1
    return "".join([*pieces, text[position:]]), count


def _match_spans(text: str, old: str) -> "list[tuple[int, int]]":
    if "\r\n" not in text:
        return list(_occurrences(text, re.escape(old)))
    whole = "(?<!\r)" if old.startswith("\n") else ""  # not the second half of a line's end
    spans = list(_occurrences(text, whole + re.escape(old)))
    if not spans:
        lines = map(re.escape, old.replace("\r\n", "\n").split("\n"))
        spans = list(_occurrences(text, "(?:\r\n|(?<!\r)\n)".join(lines)))
    return spans


# All of them, also where they overlap.
def _occurrences(text: str, pattern: str) -> "Iterator[tuple[int, int]]":
    compiled = re.compile(pattern)
    found = compiled.search(text)
    while found:
        yield found.span()
        found = compiled.search(text, found.start() + 1)


def _hint(text: str, old: str) -> str:
    squeezed = " ".join(old.split())
    if squeezed and squeezed in " ".join(text.split()):
        return "; with other white space it does: read the lines again and copy them as they are"
    return ""


_TASKS: "dict[str, Callable[..., str]]" = {"read_file": read_file, "edit": edit}


def answer(task: str, root: str, arguments: "dict[str, object]") -> str:
    """What a task says, as JSON in ASCII: `text`, or `error` when it was refused."""
    try:
        return json.dumps({"text": _TASKS[task](root, **arguments)})
    except RefusedError as error:
        return json.dumps({"error": str(error)})
    except FileNotFoundError:
        return json.dumps({"error": f"there is no {printable(str(arguments.get('path')))}"})
    except OSError as error:
        path = printable(str(arguments.get("path")))
        return json.dumps({"error": f"{path}: {error.strerror or error}"})


if __name__ == "__main__":
    call = json.loads(sys.stdin.buffer.read().decode())
    sys.stdout.write(answer(call["task"], call["root"], call["given"]))
