"""The bug report of a task from a release: the project's changelog, or what the tests show."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.version import InvalidVersion, Version

from agentbench.tasks.fix_commit import FileKind, FixCommit, file_kind

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
    for (at, version), end in zip(heads, ends, strict=False):  # without a heading, one end is left
        body = [line for line in lines[at + 1 : end] if not _UNDERLINE.fullmatch(line)]
        yield ChangelogSection(file=name, version=version, text="\n".join(body).strip("\n"))


def _heading_version(lines: list[str], at: int) -> Version | None:
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
    plain = re.fullmatch(r"v?\d+(\.\d+)+\S*([\s:,(-]+[\d\w./-]+)*\)?:?", line)
    return plain is not None and len(line.split()) <= 5


MAX_CHANGELOG: Final = 12_000
"""The most characters of a changelog; some projects release once in years."""
_MOST_NAMES = 40
_MIN_LINE = 12  # characters; texts often contain shorter lines of a patch
_FENCE = re.compile(r"^\s*(```|~~~)")


def instruction_of(
    package: str,
    versions: tuple[str, str],
    sections: Sequence[ChangelogSection],
    tests: Sequence[str],
) -> str:
    """The instruction, which names its source.

    Args:
        package: The package's name.
        versions: The older and the newer release.
        sections: The changelog sections of the newer one, without the fix's code.
        tests: The names of the tests that the newer release adds or changes.
    """
    old, new = versions
    text = _changelog_text(sections) if sections else _test_names_text(tests)
    return (
        f"# {package} {old}: make it do what {new} does\n\n"
        f"The repository holds the sources of {package} {old}. {text}\n\n"
        "Change the sources so that all of this holds. The version need not change, nor the\n"
        "changelog. Tests that are not in the repository will be run on what you make.\n"
    )


def without_code(
    sections: Sequence[ChangelogSection], fix: FixCommit
) -> tuple[ChangelogSection, ...]:
    """The sections without the solution's lines and the code blocks that contain them."""
    added = {line for line in _added_to_programs(fix.solution_patch) if len(line) >= _MIN_LINE}
    return tuple(
        ChangelogSection(file=s.file, version=s.version, text=_without_lines(s.text, added))
        for s in sections
    )


def _added_to_programs(patch: bytes) -> Iterator[str]:
    is_program = False
    for raw in patch.splitlines():
        line = raw.decode("utf-8", "replace")
        if line.startswith("diff --git "):
            is_program = file_kind(PurePosixPath(line.rpartition(" b/")[2])) is FileKind.SOURCE
        elif line.startswith("+") and is_program:
            yield line[1:].strip()


def _changelog_text(sections: Sequence[ChangelogSection]) -> str:
    files = ", ".join(dict.fromkeys(section.file for section in sections))
    told = "\n\n".join(f"## {section.version}\n\n{section.text}" for section in sections)
    if len(told) > MAX_CHANGELOG:
        told = f"{told[:MAX_CHANGELOG].rpartition(chr(10))[0]}\n…"
    return (
        f"This is what the\nproject's own changelog ({files}) says of the change, without lines of "
        f"its code:\n\n{told}"
    )


def _test_names_text(tests: Sequence[str]) -> str:
    words = (name.removeprefix("test").strip("_").replace("_", " ") or name for name in tests)
    listed = "\n".join(f"- {each}" for each in islice(words, _MOST_NAMES))
    more = f"\n- and {len(tests) - _MOST_NAMES} more" if len(tests) > _MOST_NAMES else ""
    if not listed:
        return "The newer release changes\nwhat its tests expect; its changelog says nothing of it."
    return (
        "Its changelog does not tell\nwhat the newer release changes. These are the names of the "
        f"tests that it adds or changes, and\nnothing else:\n\n{listed}{more}"
    )


def _without_lines(text: str, added: set[str]) -> str:
    """A text without a program's lines and without fenced blocks that contain one."""
    kept: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines():
        if block is None and not _FENCE.match(line):
            kept += [] if line.strip() in added else [line]
        elif block is None:
            block = [line]
        else:
            block.append(line)
            if _FENCE.match(line):
                kept += [] if any(each.strip() in added for each in block) else block
                block = None
    return "\n".join(kept + (block or [])).strip("\n")
