"""Requirement files for tests, `tox.ini` and `noxfile.py`: what is installed for tests."""

import ast
import re
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from pathlib import Path, PurePosixPath

from agentbench.tasks.project.declaration import (
    RequirementGroup,
    RequirementPurpose,
    ini_lines,
    named_requirements,
    purpose_of,
    read_project_file,
)
from agentbench.tasks.project.setup_files import parse_python

_PATTERNS = (
    "*requirements*.txt",
    "requirements/*.txt",
    "test/*requirements*.txt",
    "tests/*requirements*.txt",
    "ci/*requirements*.txt",
    "test-deps*.txt",
)
_INCLUDED = re.compile(r"(?:-r|--requirement)[ =]?(.+)")
_MAX_DEPTH = 5


def requirement_bundles(tree: Path) -> Iterator[RequirementGroup]:
    """The requirement files of a tree with "test" or "dev" in their name or their folder's."""
    found = dict.fromkeys(path for pattern in _PATTERNS for path in sorted(tree.glob(pattern)))
    for path in found:
        name = path.relative_to(tree).as_posix()
        purpose = _purpose(PurePosixPath(name))
        if purpose is not None and read_project_file(tree, name) is not None:
            yield bundle_of_file(tree, name, purpose)


def bundle_of_file(tree: Path, name: str, purpose: RequirementPurpose) -> RequirementGroup:
    """A requirement file as a requirement group."""
    held = tuple(requirements_in(tree, name))
    return RequirementGroup(where=name, purpose=purpose, files=(name,), known_requirements=held)


def requirements_in(tree: Path, name: str, depth: int = 0) -> Iterator[str]:
    """The named requirements in a requirement file and in the files that it includes."""
    for line in ini_lines(read_project_file(tree, name) or ""):
        included = _INCLUDED.match(line)
        if included is None:
            yield from named_requirements([line.partition(" --hash")[0]])
        elif depth < _MAX_DEPTH:
            beside = PurePosixPath(name).parent / included.group(1).strip()
            yield from requirements_in(tree, beside.as_posix(), depth + 1)


def _purpose(path: PurePosixPath) -> RequirementPurpose | None:
    words = re.split(r"[-_./ ]+", path.with_suffix("").as_posix().lower())
    told = {purpose_of(word) for word in words if word != "requirements"} - {None}
    return min((purpose for purpose in told if purpose is not None), default=None)


_REQUIREMENT_FILE = re.compile(r"-r\s*(?:\{(?:toxinidir|tox_root)\}/|\./)?([^\s{}]+)$")
_CONDITION = re.compile(r"^[\w!{},.-]+:\s")
_OWN_EXTRAS = re.compile(r"\.\[([\w,\s.-]+)\]")


def tox_bundles(parser: ConfigParser, tree: Path) -> Iterator[RequirementGroup]:
    """What `[testenv]` installs, without lines for single environments."""
    said = [line for line in _testenv_lines(parser, "deps") if not _CONDITION.match(line)]
    extras = [name.strip() for line in _testenv_lines(parser, "extras") for name in line.split(",")]
    yield from _bundle("[testenv] of tox.ini", said, extras, tree)


def tox_environment(parser: ConfigParser) -> dict[str, str]:
    """The variables that `[testenv]` sets to literal values."""
    pairs = (line.partition("=") for line in _testenv_lines(parser, "setenv"))
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name) and not re.search(r"[{}$%]", value)
    }


def nox_bundles(text: str | None, tree: Path) -> Iterator[RequirementGroup]:
    """What the test sessions of a `noxfile.py` install; the file is never run."""
    for node in ast.walk(parse_python(text)):
        if isinstance(node, ast.FunctionDef) and "test" in node.name:
            said = list(_as_lines(_install_calls(node)))
            extras = [
                name.strip()
                for line in said
                if (own := _OWN_EXTRAS.fullmatch(line))
                for name in own.group(1).split(",")
            ]
            yield from _bundle(f"session `{node.name}` of noxfile.py", said, extras, tree)


def _bundle(
    where: str, said: Iterable[str], extras: Iterable[str], tree: Path
) -> Iterator[RequirementGroup]:
    said, own = list(said), tuple(filter(None, extras))
    named = (match.group(1) for line in said if (match := _REQUIREMENT_FILE.match(line)))
    files = tuple(
        name for name in named if _is_inside(name) and read_project_file(tree, name) is not None
    )
    held = tuple(each for name in files for each in requirements_in(tree, name))
    listed = named_requirements(said)
    if own or files or listed:
        yield RequirementGroup(
            where=where,
            purpose=RequirementPurpose.TESTS,
            extras=own,
            files=files,
            requirements=listed,
            known_requirements=held,
        )


def _testenv_lines(parser: ConfigParser, name: str) -> tuple[str, ...]:
    return ini_lines(parser.get("testenv", name, fallback=""))


def _install_calls(function: ast.FunctionDef) -> Iterator[list[str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "install":
            constants = (each for each in node.args if isinstance(each, ast.Constant))
            yield [each.value for each in constants if isinstance(each.value, str)]


def _as_lines(calls: Iterable[list[str]]) -> Iterator[str]:
    """Arguments in the form of a requirement file, with `-r` and its file together."""
    for arguments in calls:
        words = iter(arguments)
        for word in words:
            yield f"-r {next(words, '')}" if word in {"-r", "--requirement"} else word


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
