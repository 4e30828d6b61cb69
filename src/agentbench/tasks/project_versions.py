"""The Python version that a project requests, and the version of a commit by its tags."""

import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from agentbench.tasks.git_history import content_at
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.project_declaration import ReadText, decode_text, read_project_file
from agentbench.tasks.project_files import read_declaration

NO_PYTHON_REQUESTED: Final = "the project asks for none"
_PINNED = re.compile(r"(?:cpython-)?(3\.\d+)(?:\.\d+)?$", re.MULTILINE)
_LAST_PATCH = 99
# The options of setuptools-scm, except `--dirty`, which has no meaning in a mirror.
_DESCRIBE = ("describe", "--tags", "--long", "--abbrev=40", "--match", "*[0-9]*")
_DESCRIBED = re.compile(r"(?P<tag>.+)-(?P<distance>\d+)-(?P<node>g[0-9a-f]+)", re.DOTALL)
_PLAIN_SCHEMES = {"version_scheme": "only-version", "local_scheme": "no-local-version"}
_WARNINGS_LOCK = Lock()  # filters of warnings belong to the whole process


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPython:
    """A version such as "3.11", and why it was chosen."""

    version: str
    why: str


class UnsupportedPythonError(ValueError):
    """A project allows none of the supported versions; the text says which ones it allows."""


def requested_python(read: ReadText, *, supported: Sequence[str], default: str) -> RequestedPython:
    """The Python version that a project requests.

    `.python-version` decides if Requires-Python allows it. Otherwise it is the default version if
    the project allows that, else the nearest one, so that a new Python release changes nothing.

    Args:
        read: Reads the project's files.
        supported: The versions to choose from, oldest first, with the default among them.
        default: The version for a project that requests none.

    Raises:
        UnsupportedPythonError: Requires-Python allows none of the supported versions.
    """
    declared = read_declaration(read)
    specifiers = valid_specifiers(declared.requires_python)
    admitted = _admitted(supported, specifiers)
    text = " and ".join(filter(None, map(str, specifiers)))
    if not admitted:
        raise UnsupportedPythonError(f"Requires-Python is {text}")
    pinned = _PINNED.match((read(".python-version") or "").strip())
    if pinned and pinned[1] in admitted:
        return RequestedPython(version=pinned[1], why=".python-version")
    if text:
        nearest = _nearest(admitted, default)
        return RequestedPython(version=nearest, why=f"Requires-Python is {text}")
    if classified := [version for version in supported if version in declared.pythons]:
        return RequestedPython(version=_nearest(classified, default), why="its classifiers")
    return RequestedPython(version=default, why=NO_PYTHON_REQUESTED)


def tree_reader(tree: Path) -> ReadText:
    """Reads the files of a folder."""
    return partial(read_project_file, tree)


def mirror_reader(mirror: Mirror) -> ReadText:
    """Reads the files of a mirror's commit."""

    def read(name: str) -> str | None:
        """The text of a file of the commit."""
        content = content_at(mirror, mirror.commit, PurePosixPath(name))
        return None if content is None else decode_text(content)

    return read


def valid_specifiers(texts: Iterable[str]) -> list[SpecifierSet]:
    """The version specifiers among some texts, each once."""
    found = []
    for text in dict.fromkeys(texts):
        with suppress(InvalidSpecifier):
            found.append(SpecifierSet(text))
    return found


def _admitted(supported: Sequence[str], specifiers: Sequence[SpecifierSet]) -> list[str]:
    """The versions whose newest release is allowed; if none is, those whose first one is."""
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
    """The default, else the newest before it, else the oldest after it; `versions` is sorted."""
    older = [version for version in versions if Version(version) <= Version(default)]
    return older[-1] if older else versions[0]


def scm_version(mirror: Mirror) -> str | None:
    """The version of a mirror's commit; None if no earlier tag names a version.

    Without a tag setuptools-scm calls every repository 0.1.dev, also the one in a sandbox. A tag
    with a path (`shop/v3`) is also tried without it. A version that cannot be incremented
    (`1.2.dev5`) is used as it is.
    """
    answer = mirror.git(*_DESCRIBE, mirror.commit)
    described = _DESCRIBED.fullmatch(answer.stdout.decode("utf-8", "replace").strip())
    if described is None:
        return None
    tag, distance, node = described["tag"], int(described["distance"]), described["node"]
    for name in (tag, tag.rpartition("/")[2]):
        for schemes in ({}, _PLAIN_SCHEMES):
            if version := _formatted(name, distance, node, schemes):
                return version
    return None


def _formatted(tag: str, distance: int, node: str, schemes: dict[str, str]) -> str | None:
    from setuptools_scm.version import meta  # takes a quarter of a second
    from vcs_versioning import VcsEnvironment

    # Independent of this machine's environment and of a pyproject.toml in the working folder.
    config = VcsEnvironment.from_env(env={}).build_config_from_data(
        relative_to=Path("/pyproject.toml"), data={**schemes}
    )
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return meta(tag, distance=distance, node=node, config=config).format()
        except ValueError:
            return None
