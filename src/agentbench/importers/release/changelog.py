"""Reads the sections of a changelog between two versions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

_NAME = re.compile(
    r"(change[-_]?log|changes|history|news|release[-_]?notes|releases|whatsnew)(\..*)?"
)
_FOLDERS = (".", "docs", "doc", "docs/source", "doc/source")
_MAX_BYTES = 4 << 20
_UNDERLINE = re.compile(r"([=\-~^#*+\"'`])\1{2,}\s*")
_HEADING = re.compile(
    r"(?:#{1,4}\s*)?(?:\*\*)?(?:(?:version|release|changes in|new in|what's new in)\s+)?"
    r"(?:[\w.-]+\s+)?[\[(`]*v?(\d+(?:\.\d+)+(?:\.?(?:a|b|rc|post|dev)\d*)?)[\])]?(?:\W.*)?",
    re.IGNORECASE,
)
_MAX_HEADING_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogSection:
    """The section of one release."""

    file: str
    version: Version
    text: str


def sections_between(tree: Path, old: Version, new: Version) -> tuple[ChangelogSection, ...]:
    """The sections of a tree's changelog for the releases after `old`, up to `new`."""
    for name in _changelogs(tree):
        found = tuple(s for s in _sections(tree, name) if old < s.version <= new and s.text)
        if found:
            return found
    return ()


def _changelogs(tree: Path) -> Iterator[str]:
    for folder in _FOLDERS:
        if not (tree / folder).is_dir():
            continue
        for path in sorted((tree / folder).iterdir()):
            if _NAME.fullmatch(path.name.lower()) and path.is_file() and not path.is_symlink():
                yield path.relative_to(tree).as_posix()


def _sections(tree: Path, name: str) -> Iterator[ChangelogSection]:
    path = tree / name
    if path.stat().st_size > _MAX_BYTES:
        return
    lines = path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    heads = [(at, version) for at in range(len(lines)) if (version := _heading_version(lines, at))]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    for (at, version), end in zip(
        heads, ends, strict=False
    ):  # `ends` has one element more without a heading
        body = [line for line in lines[at + 1 : end] if not _UNDERLINE.fullmatch(line)]
        yield ChangelogSection(file=name, version=version, text="\n".join(body).strip("\n"))


def _heading_version(lines: list[str], at: int) -> Version | None:
    """The version in a heading line."""
    line = lines[at].strip()
    found = _HEADING.fullmatch(line) if 0 < len(line) <= _MAX_HEADING_LENGTH else None
    if found is None or lines[at][:1].isspace():
        return None
    after = lines[at + 1] if at + 1 < len(lines) else ""
    if not (
        line.startswith(("#", "**", "[")) or _UNDERLINE.fullmatch(after) or _is_plain_heading(line)
    ):
        return None
    try:
        return Version(found.group(1))
    except InvalidVersion:
        return None


def _is_plain_heading(line: str) -> bool:
    """Whether a line has only a version and a date: a heading without markup."""
    return re.fullmatch(r"v?\d+(\.\d+)+\S*([\s:,(-]+[\d\w./-]+)*\)?:?", line) is not None and (
        len(line.split()) <= 5
    )
