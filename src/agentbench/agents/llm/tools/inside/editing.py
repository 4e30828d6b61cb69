"""Replaces an exact text in a file; line endings and bytes that are no UTF-8 stay."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentbench.agents.llm.tools.inside.paths import RefusedError, content_of, shown, write

_TOLD = 10  # line numbers


def edit(root: str, path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:  # noqa: FBT001, FBT002 - as the tool's arguments have it
    """Replace a text that occurs once, or everywhere; with no old text, fill a new file.

    Raises:
        RefusedError: it does not occur, or too often, or this is no text file of the workspace.
    """
    if not old_text:
        return _filled(root, path, new_text)
    before = content_of(root, path).decode("utf-8", "surrogateescape")
    after, count = replaced(before, old_text, new_text, replace_all=replace_all)
    write(root, path, after.encode("utf-8", "surrogateescape"))
    return f"{shown(path)}: replaced {count} occurrence{'s' if count > 1 else ''}"


def replaced(text: str, old: str, new: str, *, replace_all: bool) -> tuple[str, int]:
    r"""The text with a part of it exchanged, and how often.

    Where nothing is equal to the letter, `\n` in the old text fits `\r\n` as well. The new text
    takes on the line endings that most lines have.

    Raises:
        RefusedError: the part does not occur, or is ambiguous, or stays the same.
    """
    if old == new:
        raise RefusedError("old_text and new_text are the same")
    places = _places(text, old)
    if not places:
        raise RefusedError(f"old_text does not occur in the file{_hint(text, old)}")
    if len(places) > 1 and not replace_all:
        lines = [str(text.count("\n", 0, start) + 1) for start, _ in places[:_TOLD]]
        told = ", ".join(lines) + (", …" if len(places) > _TOLD else "")
        raise RefusedError(
            f"old_text occurs {len(places)} times (from lines {told}): take in more of the lines "
            "around the one that is meant, or set replace_all"
        )
    if 2 * text.count("\r\n") > text.count("\n"):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return _spliced(text, places, new)


def _places(text: str, old: str) -> list[tuple[int, int]]:
    if "\r\n" not in text:
        return list(_occurrences(text, re.escape(old)))
    whole = "(?<!\r)" if old.startswith("\n") else ""  # not the second half of a line's end
    places = list(_occurrences(text, whole + re.escape(old)))
    if not places:
        lines = map(re.escape, old.replace("\r\n", "\n").split("\n"))
        places = list(_occurrences(text, "(?:\r\n|(?<!\r)\n)".join(lines)))
    return places


def _occurrences(text: str, pattern: str) -> Iterator[tuple[int, int]]:
    """All of them, also where they overlap."""
    compiled = re.compile(pattern)
    found = compiled.search(text)
    while found:
        yield found.span()
        found = compiled.search(text, found.start() + 1)


def _spliced(text: str, places: list[tuple[int, int]], new: str) -> tuple[str, int]:
    pieces, position, count = [], 0, 0
    for start, end in places:
        if start >= position:
            pieces += [text[position:start], new]
            position, count = end, count + 1
    return "".join([*pieces, text[position:]]), count


def _hint(text: str, old: str) -> str:
    squeezed = " ".join(old.split())
    if squeezed and squeezed in " ".join(text.split()):
        return "; with other white space it does: read the lines again and copy them as they are"
    return ""


def _filled(root: str, path: str, text: str) -> str:
    try:
        known = content_of(root, path)
    except FileNotFoundError:
        known = b""
    if known:
        raise RefusedError(f"{shown(path)} is there already; an empty old_text makes a new file")
    write(root, path, text.encode())
    return f"{shown(path)}: written, {len(text.encode())} bytes"
