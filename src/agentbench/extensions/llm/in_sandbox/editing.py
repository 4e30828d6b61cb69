"""Replaces an exact text in a file, keeping line endings, and runs a file tool by its name."""

import json
import re
from collections.abc import Callable, Iterator

from agentbench.extensions.llm.in_sandbox.paths import (
    RefusedError,
    printable,
    read_text_file,
    write_file,
)
from agentbench.extensions.llm.in_sandbox.reading import list_files, read_file, search

_MAX_LINE_NUMBERS = 10  # line numbers


def edit(root: str, path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:  # noqa: FBT001, FBT002 - as the tool's arguments have it
    """Replace a text that occurs once, or everywhere; with no old text, fill a new file.

    Raises:
        RefusedError: it does not occur, or too often, or this is no text file of the workspace.
    """
    if not old_text:
        return _write_new_file(root, path, new_text)
    before = read_text_file(root, path).decode("utf-8", "surrogateescape")
    after, count = replace_text(before, old_text, new_text, replace_all=replace_all)
    write_file(root, path, after.encode("utf-8", "surrogateescape"))
    return f"{printable(path)}: replaced {count} occurrence{'s' if count > 1 else ''}"


def replace_text(text: str, old: str, new: str, *, replace_all: bool) -> "tuple[str, int]":
    r"""The text with a part of it exchanged, and how often.

    Where nothing is equal to the letter, `\n` in the old text fits `\r\n` as well. The new text
    takes on the line endings that most lines have.

    Raises:
        RefusedError: the part does not occur, or is ambiguous, or stays the same.
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
    return _spliced(text, spans, new)


def _match_spans(text: str, old: str) -> "list[tuple[int, int]]":
    if "\r\n" not in text:
        return list(_occurrences(text, re.escape(old)))
    whole = "(?<!\r)" if old.startswith("\n") else ""  # not the second half of a line's end
    spans = list(_occurrences(text, whole + re.escape(old)))
    if not spans:
        lines = map(re.escape, old.replace("\r\n", "\n").split("\n"))
        spans = list(_occurrences(text, "(?:\r\n|(?<!\r)\n)".join(lines)))
    return spans


def _occurrences(text: str, pattern: str) -> "Iterator[tuple[int, int]]":
    """All of them, also where they overlap."""
    compiled = re.compile(pattern)
    found = compiled.search(text)
    while found:
        yield found.span()
        found = compiled.search(text, found.start() + 1)


def _spliced(text: str, spans: "list[tuple[int, int]]", new: str) -> "tuple[str, int]":
    pieces, position, count = [], 0, 0
    for start, end in spans:
        if start >= position:
            pieces += [text[position:start], new]
            position, count = end, count + 1
    return "".join([*pieces, text[position:]]), count


def _hint(text: str, old: str) -> str:
    squeezed = " ".join(old.split())
    if squeezed and squeezed in " ".join(text.split()):
        return "; with other white space it does: read the lines again and copy them as they are"
    return ""


def _write_new_file(root: str, path: str, text: str) -> str:
    try:
        known = read_text_file(root, path)
    except FileNotFoundError:
        known = b""
    if known:
        raise RefusedError(f"{printable(path)} already exists; an empty old_text makes a new file")
    write_file(root, path, text.encode())
    return f"{printable(path)}: written, {len(text.encode())} bytes"


_TASKS: "tuple[Callable[..., str], ...]" = (list_files, read_file, search, edit)
_CALLS = {task.__name__: task for task in _TASKS}


def answer(task: str, root: str, arguments: "dict[str, object]") -> str:
    """What a task says, as JSON in ASCII: `text`, or `error` when it was refused."""
    try:
        return json.dumps({"text": _CALLS[task](root, **arguments)})
    except RefusedError as error:
        return json.dumps({"error": str(error)})
    except FileNotFoundError:
        return json.dumps({"error": f"there is no {printable(str(arguments.get('path')))}"})
    except OSError as error:
        path = printable(str(arguments.get("path")))
        return json.dumps({"error": f"{path}: {error.strerror or error}"})
