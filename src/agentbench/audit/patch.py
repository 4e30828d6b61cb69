"""Unified diffs as values. No program applies them.

unidiff parses text; the text here is Latin-1, in which every byte is one character.
"""

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from unidiff import patch as unidiff
from unidiff.constants import LINE_TYPE_NO_NEWLINE
from unidiff.errors import UnidiffParseError

_BYTES = "latin-1"
_NO_FILE = "/dev/null"
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk of a file's diff; its lines include their signs and line ends."""

    old_start: int
    new_start: int
    lines: tuple[bytes, ...]


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
            for line in hunk.lines:
                if line[:1] == b"+":
                    yield number, line[1:].decode("utf-8", "replace").rstrip("\r\n")
                number += line[:1] != b"-"

    def sides(self) -> Iterator[tuple[list[str], list[str]]]:
        """The old and the new lines of each hunk, with the context of the change."""
        for hunk in self.hunks:
            texts = [line[1:].decode("utf-8", "replace").rstrip("\r\n") for line in hunk.lines]
            signs = [line[:1] for line in hunk.lines]
            yield (
                [text for sign, text in zip(signs, texts, strict=True) if sign != b"+"],
                [text for sign, text in zip(signs, texts, strict=True) if sign != b"-"],
            )

    def changed(self) -> Iterator[str]:
        """The added and removed lines, with their signs and without surrounding space."""
        for hunk in self.hunks:
            for line in hunk.lines:
                text = line[1:].decode("utf-8", "replace").strip()
                if line[:1] in {b"+", b"-"} and text:
                    yield line[:1].decode() + text


def parse_patch(patch: bytes) -> tuple[FilePatch, ...]:
    """The diffs of files in a patch. A malformed diff of a file is skipped."""
    text = patch[:_MAX_BYTES].decode(_BYTES)
    try:
        return _files(text)
    except UnidiffParseError:
        files: list[FilePatch] = []
        for section in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE):
            with suppress(UnidiffParseError):
                files += _files(section)
        return tuple(files)


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


def _files(text: str) -> tuple[FilePatch, ...]:
    return tuple(
        FilePatch(
            path=_name(file.source_file if file.target_file == _NO_FILE else file.target_file),
            removed=file.target_file == _NO_FILE,
            hunks=tuple(map(_hunk, file)),
        )
        for file in unidiff.PatchSet(io.StringIO(text, newline="\n"))
        if len(file)
    )


def _hunk(parsed: unidiff.Hunk) -> Hunk:
    lines: list[bytes] = []
    for line in parsed:
        if line.line_type == LINE_TYPE_NO_NEWLINE:
            lines[-1:] = [last.rstrip(b"\n") for last in lines[-1:]]
        else:
            lines.append(f"{line.line_type}{line.value}".encode(_BYTES))
    # A hunk without old lines names the line before it.
    start = parsed.source_start + (parsed.source_length == 0)
    return Hunk(old_start=start, new_start=parsed.target_start, lines=tuple(lines))


def _name(text: str) -> str:
    name = text.rstrip("\r").encode(_BYTES)
    if name[:1] == b'"' and name[-1:] == b'"' and len(name) > 1:
        name = _unquoted(name[1:-1])
    text = name.decode("utf-8", "backslashreplace")
    return text[2:] if text[:2] in {"a/", "b/"} else text


def _unquoted(name: bytes) -> bytes:
    """A name that git has quoted: with escapes as in C, and other bytes in octal."""
    plain = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}

    def meant(found: re.Match[bytes]) -> bytes:
        """The byte of an escape."""
        code = found.group(1)
        return bytes([int(code, 8) & 255]) if code.isdigit() else plain.get(code, code)

    return re.sub(rb"\\([0-7]{3}|.)", meant, name)
