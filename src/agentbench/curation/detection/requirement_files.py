"""Requirement files that are there for tests, or for those who develop."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from agentbench.tasks.project.declaration import Bundle, Purpose, purpose_of, usable
from agentbench.tasks.project.loose import lines
from agentbench.tasks.project.tree_text import text_of

_PATTERNS = (
    "*requirements*.txt",
    "requirements/*.txt",
    "test/*requirements*.txt",
    "tests/*requirements*.txt",
    "ci/*requirements*.txt",
    "test-deps*.txt",
)
_INCLUDED = re.compile(r"(?:-r|--requirement)[ =]?(.+)")
_DEEPEST = 5


def requirement_bundles(tree: Path) -> Iterator[Bundle]:
    """The requirement files of a tree that bear "test" or "dev" in their name or their folder's."""
    found = dict.fromkeys(path for pattern in _PATTERNS for path in sorted(tree.glob(pattern)))
    for path in found:
        name = path.relative_to(tree).as_posix()
        purpose = _purpose(PurePosixPath(name))
        if purpose is not None and text_of(tree, name) is not None:
            yield bundle_of_file(tree, name, purpose)


def bundle_of_file(tree: Path, name: str, purpose: Purpose) -> Bundle:
    """A requirement file as a bundle."""
    held = tuple(requirements_in(tree, name))
    return Bundle(where=name, purpose=purpose, files=(name,), held=held)


def requirements_in(tree: Path, name: str, depth: int = 0) -> Iterator[str]:
    """What a requirement file asks for by name, with the files that it includes."""
    for line in lines(text_of(tree, name) or ""):
        included = _INCLUDED.match(line)
        if included is None:
            yield from usable([line.partition(" --hash")[0]])
        elif depth < _DEEPEST:
            beside = PurePosixPath(name).parent / included.group(1).strip()
            yield from requirements_in(tree, beside.as_posix(), depth + 1)


def _purpose(path: PurePosixPath) -> Purpose | None:
    words = re.split(r"[-_./ ]+", path.with_suffix("").as_posix().lower())
    told = {purpose_of(word) for word in words if word != "requirements"} - {None}
    return min((purpose for purpose in told if purpose is not None), default=None)
