"""Unified diffs as values. No program applies them.

The parser is our own because the audit must see every file that git would change. unidiff 1.0
drops a file in a folder such as `x b`, drops a whole diff without `diff --git` lines if one hunk is
malformed, and raises ValueError for a line number of thousands of digits.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_FILE = "/dev/null"
# Of a file that keeps its name; of one that is renamed, only hunks are read.
_BOTH_NAMES = re.compile(rb'diff --git (?:a/(.+) (?P<plain>b/\1)|"a/(.+)" (?P<quoted>"b/\3"))')
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk of a file's diff; its lines include their signs and line ends."""

    old_start: int
    new_start: int
    lines: tuple[bytes, ...]

    def signed_texts(self) -> Iterator[tuple[str, str]]:
        """Each line's sign, and its text without the line's end."""
        for line in self.lines:
            yield line[:1].decode(), line[1:].decode("utf-8", "replace").rstrip("\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """The diff of one file; `path` is the new one, or the old one of a file that is removed."""

    path: str
    removed: bool
    hunks: tuple[Hunk, ...]

    def added(self) -> Iterator[tuple[int, str]]:
        """The added lines, with their numbers in the new file."""
        for hunk in self.hunks:
            number = hunk.new_start
            for sign, text in hunk.signed_texts():
                if sign == "+":
                    yield number, text
                number += sign != "-"

    def sides(self) -> Iterator[tuple[list[str], list[str]]]:
        """The old and the new lines of each hunk, with the context of the change."""
        for hunk in self.hunks:
            lines = list(hunk.signed_texts())
            old = [text for sign, text in lines if sign != "+"]
            yield old, [text for sign, text in lines if sign != "-"]

    def changed(self) -> Iterator[str]:
        """The added and removed lines, with their signs and without surrounding space."""
        for hunk in self.hunks:
            for sign, line in hunk.signed_texts():
                text = line.strip()
                if sign != " " and text:
                    yield sign + text


def parse_patch(patch: bytes) -> tuple[FilePatch, ...]:
    """The diffs of files in a patch. Text outside the diff format is skipped."""
    return tuple(_files(io.BytesIO(patch[:_MAX_BYTES]).readlines()))


def apply_patch(before: bytes | None, file: FilePatch) -> bytes | None:
    """The content after a diff; `None` if the diff does not fit."""
    old = io.BytesIO(before or b"").readlines()
    new: list[bytes] = []
    at = 0
    for hunk in file.hunks:
        start = max(hunk.old_start - 1, 0)
        if start < at or start > len(old):
            return None
        new += old[at:start]
        at = start
        for line in hunk.lines:
            if line[:1] != b"+":
                if at >= len(old) or old[at] != line[1:]:
                    return None
                at += 1
            if line[:1] != b"-":
                new.append(line[1:])
    return b"".join([*new, *old[at:]])


def _files(lines: list[bytes]) -> Iterator[FilePatch]:
    at = 0
    head: list[bytes] = []  # of a file whose names have not come yet
    while at < len(lines):
        names = lines[at : at + 2]
        if lines[at].startswith(b"diff --git "):
            yield from _without_hunks(head)
            head = [lines[at]]
        elif len(names) == 2 and names[0].startswith(b"--- ") and names[1].startswith(b"+++ "):
            old, new = map(_name, names)
            hunks, at = _hunks(lines, at + 2)
            is_removed = new == _NO_FILE
            yield FilePatch(path=old if is_removed else new, removed=is_removed, hunks=hunks)
            head = []
            continue
        elif head:
            head.append(lines[at])
        at += 1
    yield from _without_hunks(head)


def _without_hunks(head: list[bytes]) -> Iterator[FilePatch]:
    """The file of a head that no hunk follows: an empty or binary file, or another mode."""
    if head and (names := _BOTH_NAMES.fullmatch(head[0].rstrip(b"\r\n"))):
        is_removed = any(line.startswith(b"deleted file mode ") for line in head)
        path = _name(b"+++ " + (names["quoted"] or names["plain"]))
        yield FilePatch(path=path, removed=is_removed, hunks=())


def _hunks(lines: list[bytes], at: int) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while at < len(lines) and (head := _HUNK.match(lines[at])):
        old_start, old, new_start, new = (
            int(part) if part is not None else 1 for part in head.groups()
        )
        body, at = _body(lines, at + 1, old, new)
        # A hunk without old lines names the line before it.
        hunks.append(Hunk(old_start=old_start + (not old), new_start=new_start, lines=body))
    return tuple(hunks), at


def _body(lines: list[bytes], at: int, old: int, new: int) -> tuple[tuple[bytes, ...], int]:
    body: list[bytes] = []
    while at < len(lines) and (old > 0 or new > 0 or lines[at][:1] == b"\\"):
        line = lines[at]
        if line[:1] == b"\\":  # "No newline at end of file"
            if body:
                body[-1] = body[-1].rstrip(b"\n")
        elif line[:1] in {b" ", b"+", b"-"}:
            old -= line[:1] != b"+"
            new -= line[:1] != b"-"
            body.append(line)
        elif line in {b"\n", b"\r\n"}:  # an empty context line without its leading blank
            old, new = old - 1, new - 1
            body.append(b" " + line)
        else:
            break
        at += 1
    return tuple(body), at


def _name(line: bytes) -> str:
    name = line[4:].rstrip(b"\r\n").partition(b"\t")[0]
    if name[:1] == b'"' and name[-1:] == b'"' and len(name) > 1:
        name = _unquoted(name[1:-1])
    text = name.decode("utf-8", "backslashreplace")
    return text[2:] if text[:2] in {"a/", "b/"} else text


def _unquoted(name: bytes) -> bytes:
    """A name that git has quoted: with escapes as in C, and other bytes in octal."""
    plain = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}

    def meant(found: re.Match[bytes]) -> bytes:
        code = found.group(1)
        return bytes([int(code, 8) & 255]) if code.isdigit() else plain.get(code, code)

    return re.sub(rb"\\([0-7]{3}|.)", meant, name)
