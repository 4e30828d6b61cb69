"""Which Python a project asks for; the same answer on every machine."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.project.declaration import Declaration
from agentbench.tasks.project.pyproject import parse_toml, read_pyproject
from agentbench.tasks.project.setup_cfg import parse_ini, read_setup_cfg
from agentbench.tasks.project.setup_py import read_setup_py
from agentbench.tasks.project.tree_text import decoded, text_of

ReadText = Callable[[str], str | None]
"""The text of a project's file by its name; None if there is no such file."""

NOT_ASKED: Final = "the project asks for none"
_PINNED = re.compile(r"(?:cpython-)?(3\.\d+)(?:\.\d+)?$", re.MULTILINE)
_LAST_PATCH = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A version as "3.11", and why it."""

    version: str
    why: str


class NoInterpreterError(ValueError):
    """A project admits none of the versions that there are; the text says what it admits."""


def interpreter_of(read: ReadText, *, supported: Sequence[str], default: str) -> Interpreter:
    """The version that a project asks for.

    `.python-version` decides if Requires-Python admits it. Else the version is the default one if
    the project admits that, or the nearest to it, so that a new version of Python changes nothing.

    Args:
        read: Reads the project's files.
        supported: The versions to choose from, oldest first; the default is one of them.
        default: The version of a project that does not ask.

    Raises:
        NoInterpreterError: Requires-Python admits none of the supported versions.
    """
    declared = _declaration(read)
    specifiers = _specifiers(declared.requires_python)
    admitted = _admitted(supported, specifiers)
    said = " and ".join(filter(None, map(str, specifiers)))
    if not admitted:
        raise NoInterpreterError(f"Requires-Python is {said}")
    pinned = _PINNED.match((read(".python-version") or "").strip())
    if pinned and pinned[1] in admitted:
        return Interpreter(version=pinned[1], why=".python-version")
    if said:
        return Interpreter(version=_nearest(admitted, default), why=f"Requires-Python is {said}")
    if classified := [version for version in supported if version in declared.pythons]:
        return Interpreter(version=_nearest(classified, default), why="its classifiers")
    return Interpreter(version=default, why=NOT_ASKED)


def reader_of_tree(tree: Path) -> ReadText:
    """Reads the files of a folder."""
    return partial(text_of, tree)


def reader_of_mirror(mirror: Mirror) -> ReadText:
    """Reads the files of a mirror's commit."""

    def read(name: str) -> str | None:
        answer = git(
            "cat-file",
            "blob",
            f"{mirror.commit}:{name}",
            cwd=mirror.path,
            env={"GIT_DIR": str(mirror.path)},
        )
        return decoded(answer.stdout) if answer.ok else None

    return read


def _declaration(read: ReadText) -> Declaration:
    declared = read_pyproject(parse_toml(read("pyproject.toml")))
    declared = declared.with_(read_setup_cfg(parse_ini(read("setup.cfg"))))
    return declared.with_(read_setup_py(read("setup.py")))


def _specifiers(texts: Iterable[str]) -> list[SpecifierSet]:
    found = []
    for text in dict.fromkeys(texts):
        try:
            found.append(SpecifierSet(text))
        except InvalidSpecifier:
            continue
    return found


def _admitted(supported: Sequence[str], specifiers: Sequence[SpecifierSet]) -> list[str]:
    """Versions whose newest release is admitted; if there are none, those whose first one is."""
    for patch in (_LAST_PATCH, 0):
        found = [
            version
            for version in supported
            if all(each.contains(f"{version}.{patch}") for each in specifiers)
        ]
        if found:
            return found
    return []


def _nearest(versions: Sequence[str], default: str) -> str:
    """The default, else the newest before it, else the oldest after it; `versions` are in order."""
    number = _number(default)
    older = [version for version in versions if _number(version) <= number]
    return older[-1] if older else versions[0]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
