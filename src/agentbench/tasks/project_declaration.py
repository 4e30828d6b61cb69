"""The needs that a project's own files declare: requirements, groups of these, Python versions.

A value of a wrong type counts as missing.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_FOR_TESTS = re.compile(r"(unit|run)?[-_.]?(py)?tests?(ing)?([-_.].*)?|.*[-_.]tests?|ci")
_FOR_DEVELOPERS = re.compile(r"dev(el|elop|elopers?|elopment)?([-_.].*)?")
_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)$")
TomlTable = Mapping[str, object]
"""A table of a TOML file."""
ReadText = Callable[[str], str | None]
"""The text of a project's file by its name; None if there is no such file."""
_MAX_FILE_BYTES = 1 << 20
"""The maximum size of a project's file in bytes; larger files are ignored."""
_MAX_FILES = 20_000
_IGNORED_FOLDERS = frozenset(
    {"node_modules", "build", "dist", "site-packages", "venv", "env", "vendor"}
)


class RequirementPurpose(IntEnum):
    """The purpose of requirements, the most relevant for tests first."""

    TESTS = 1
    DEVELOPMENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementGroup:
    """Requirements that are declared in one place, for tests or for development."""

    where: str  # as in "extra `test` of pyproject.toml"
    purpose: RequirementPurpose
    extras: tuple[str, ...] = ()  # the project's own extras that contain them
    files: tuple[str, ...] = ()  # the requirement files that contain them
    requirements: tuple[str, ...] = ()  # further requirements by name
    known_requirements: tuple[str, ...] = ()  # the known requirements in the extras and files


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDeclaration:
    """The declarations of one file, or of several together."""

    installable: bool = False  # whether pip can install the project
    requires_python: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()  # the versions that classifiers name, as in "3.11"
    requirements: tuple[str, ...] = ()
    bundles: tuple[RequirementGroup, ...] = ()
    build_requirements: tuple[str, ...] = ()

    def merged_with(self, other: "ProjectDeclaration") -> "ProjectDeclaration":
        """The declarations of both, this one's first."""
        return ProjectDeclaration(
            installable=self.installable or other.installable,
            requires_python=(*self.requires_python, *other.requires_python),
            pythons=(*self.pythons, *other.pythons),
            requirements=(*self.requirements, *other.requirements),
            bundles=(*self.bundles, *other.bundles),
            build_requirements=(*self.build_requirements, *other.build_requirements),
        )


def extra_groups(extras: Mapping[str, object], file: str) -> Iterator[RequirementGroup]:
    """The extras of a file that are for tests or for developers."""
    for name, requirements in extras.items():
        if (purpose := purpose_of(name)) is not None:
            yield RequirementGroup(
                where=f"extra `{name}` of {file}",
                purpose=purpose,
                extras=(name,),
                known_requirements=named_requirements(strings_in(requirements)),
            )


def requirement_group(
    where: str, name: str, requirements: tuple[str, ...]
) -> Iterator[RequirementGroup]:
    """The group of some requirements, if there are any and its name is for tests or development."""
    purpose = purpose_of(name)
    if purpose is not None and requirements:
        yield RequirementGroup(where=where, purpose=purpose, requirements=requirements)


def purpose_of(name: str) -> RequirementPurpose | None:
    """The purpose of an extra, a group or a file with this name."""
    lowered = name.lower()
    if _FOR_TESTS.fullmatch(lowered):
        return RequirementPurpose.TESTS
    return RequirementPurpose.DEVELOPMENT if _FOR_DEVELOPERS.fullmatch(lowered) else None


def pythons_of(classifiers: Iterable[str]) -> tuple[str, ...]:
    """The versions of Python that classifiers name."""
    found = (_PYTHON.match(classifier.strip()) for classifier in classifiers)
    return tuple(match.group(1) for match in found if match)


def named_requirements(requirements: Iterable[str]) -> tuple[str, ...]:
    """The requirements by name, without options, paths and addresses."""
    return tuple(text.strip() for text in requirements if distribution_of(text))


def distribution_of(requirement: str) -> str | None:
    """The normalised name of a required distribution; None if the requirement has no name."""
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    return None if parsed.url else canonicalize_name(parsed.name)


def table_in(table: TomlTable, *names: str) -> TomlTable:
    """A table below others; an empty one if there is none."""
    for name in names:
        below = table.get(name)
        if not isinstance(below, dict):
            return {}
        table = below
    return table


def text_in(table: TomlTable, name: str) -> str:
    """A string; an empty one if there is none."""
    value = table.get(name)
    return value if isinstance(value, str) else ""


def strings_in(value: object) -> tuple[str, ...]:
    """The strings of a list; a single string is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list | tuple) else ()


def ini_lines(value: str) -> tuple[str, ...]:
    """The lines of an ini file's value, without comments and empty ones."""
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in value.splitlines())
    return tuple(line for line in stripped if line)


def read_project_file(tree: Path, name: str) -> str | None:
    """A file's text; None if there is none, it is too large or leads out of the tree.

    A byte order mark is removed, and other text than UTF-8 is read as Latin-1.
    """
    path = tree / name
    try:
        if not path.is_file() or not path.resolve().is_relative_to(tree.resolve()):
            return None
        if path.stat().st_size > _MAX_FILE_BYTES:
            return None
        content = path.read_bytes()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL in a name
        return None
    return decode_text(content)


def decode_text(content: bytes) -> str:
    """A file's text; a byte order mark is removed, and other text than UTF-8 is read as Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def python_files(tree: Path) -> Iterator[str]:
    """The names of the tree's Python files, up to a limit; links are not followed."""
    found = 0
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and f not in _IGNORED_FOLDERS
        )
        below = Path(folder).relative_to(tree)
        for name in sorted(files):
            if name.endswith(".py"):
                yield (below / name).as_posix()
                found += 1
        if found > _MAX_FILES:
            return
