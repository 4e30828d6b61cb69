"""`tox.ini` and `noxfile.py`: what those who run the tests elsewhere install first."""

import ast
import re
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from pathlib import Path, PurePosixPath

from agentbench.curation.detection.requirement_files import requirements_in
from agentbench.tasks.project.declaration import Bundle, Purpose, usable
from agentbench.tasks.project.loose import lines
from agentbench.tasks.project.setup_py import parse_python
from agentbench.tasks.project.tree_text import text_of

_FILE = re.compile(r"-r\s*(?:\{(?:toxinidir|tox_root)\}/|\./)?([^\s{}]+)$")
_CONDITION = re.compile(r"^[\w!{},.-]+:\s")
_OWN_EXTRAS = re.compile(r"\.\[([\w,\s.-]+)\]")


def tox_bundles(parser: ConfigParser, tree: Path) -> Iterator[Bundle]:
    """What `[testenv]` installs; lines for some environments alone are left out."""
    said = [line for line in _said(parser, "deps") if not _CONDITION.match(line)]
    extras = [name.strip() for line in _said(parser, "extras") for name in line.split(",")]
    yield from _bundle("[testenv] of tox.ini", said, extras, tree)


def tox_environment(parser: ConfigParser) -> dict[str, str]:
    """The variables that `[testenv]` sets to plain values."""
    pairs = (line.partition("=") for line in _said(parser, "setenv"))
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name) and not re.search(r"[{}$%]", value)
    }


def nox_bundles(text: str | None, tree: Path) -> Iterator[Bundle]:
    """What the sessions of a `noxfile.py` install whose names speak of tests; it is never run."""
    for node in ast.walk(parse_python(text)):
        if isinstance(node, ast.FunctionDef) and "test" in node.name:
            said = list(_as_lines(_installed(node)))
            extras = [
                name.strip()
                for line in said
                if (own := _OWN_EXTRAS.fullmatch(line))
                for name in own.group(1).split(",")
            ]
            yield from _bundle(f"session `{node.name}` of noxfile.py", said, extras, tree)


def _bundle(where: str, said: Iterable[str], extras: Iterable[str], tree: Path) -> Iterator[Bundle]:
    said, own = list(said), tuple(filter(None, extras))
    named = (match.group(1) for line in said if (match := _FILE.match(line)))
    files = tuple(name for name in named if _is_inside(name) and text_of(tree, name) is not None)
    held = tuple(each for name in files for each in requirements_in(tree, name))
    listed = usable(said)
    if own or files or listed:
        yield Bundle(
            where=where,
            purpose=Purpose.TESTS,
            extras=own,
            files=files,
            requirements=listed,
            held=held,
        )


def _said(parser: ConfigParser, name: str) -> tuple[str, ...]:
    return lines(parser.get("testenv", name, fallback=""))


def _installed(function: ast.FunctionDef) -> Iterator[list[str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "install":
            constants = (each for each in node.args if isinstance(each, ast.Constant))
            yield [each.value for each in constants if isinstance(each.value, str)]


def _as_lines(calls: Iterable[list[str]]) -> Iterator[str]:
    """Arguments as they would stand in a requirement file: `-r` and its file together."""
    for arguments in calls:
        words = iter(arguments)
        for word in words:
            yield f"-r {next(words, '')}" if word in {"-r", "--requirement"} else word


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
