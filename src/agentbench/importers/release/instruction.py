"""The instruction for a release: text of its changelog, or the names of its tests."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from agentbench.importers.release.changelog import ChangelogSection
from agentbench.tasks.fix_commit import FileKind, FixCommit, file_kind

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
    """The lines that a patch adds to Python files."""
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
    listed = "\n".join(f"- {_name_as_words(name)}" for name in tests[:_MOST_NAMES])
    more = f"\n- and {len(tests) - _MOST_NAMES} more" if len(tests) > _MOST_NAMES else ""
    if not listed:
        return "The newer release changes\nwhat its tests expect; its changelog says nothing of it."
    return (
        "Its changelog does not tell\nwhat the newer release changes. These are the names of the "
        f"tests that it adds or changes, and\nnothing else:\n\n{listed}{more}"
    )


def _name_as_words(name: str) -> str:
    return name.removeprefix("test").strip("_").replace("_", " ") or name


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
