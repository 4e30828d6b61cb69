"""Which Python a project is tested with: by its own word, or by the date."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from agentbench.tasks.project.declaration import Declaration
from agentbench.tasks.project.tree_text import text_of

# First releases; https://devguide.python.org/versions/
_RELEASED: Mapping[str, date] = MappingProxyType(
    {
        "3.7": date(2018, 6, 27),
        "3.8": date(2019, 10, 14),
        "3.9": date(2020, 10, 5),
        "3.10": date(2021, 10, 4),
        "3.11": date(2022, 10, 24),
        "3.12": date(2023, 10, 2),
        "3.13": date(2024, 10, 7),
        "3.14": date(2025, 10, 7),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPython:
    """A version as "3.11", and why it."""

    version: str
    why: str


def wanted_python(tree: Path, declared: Declaration, on: date | None) -> WantedPython | None:
    """The version that a tree asks for; None: any will do as far as it says."""
    said = re.match(r"(?:cpython-)?(3\.\d+)", (text_of(tree, ".python-version") or "").strip())
    if said:
        return WantedPython(version=said.group(1), why=".python-version")
    specifiers = _specifiers(declared.requires_python)
    classified = _newest(v for v in declared.pythons if _admitted(v, specifiers))
    if classified is not None:
        return WantedPython(version=classified, why="the newest that its classifiers name")
    known = [v for v, released in _RELEASED.items() if on is None or released <= on]
    admitted = _newest(v for v in known if _admitted(v, specifiers))
    if admitted is None or (on is None and admitted == _newest(_RELEASED)):
        return None
    why = "the newest that Requires-Python admits" if on is None else f"the newest on {on}"
    return WantedPython(version=admitted, why=why)


def _specifiers(texts: Iterable[str]) -> list[SpecifierSet]:
    found = []
    for text in texts:
        try:
            found.append(SpecifierSet(text))
        except InvalidSpecifier:
            continue
    return found


def _admitted(version: str, specifiers: Iterable[SpecifierSet]) -> bool:
    return all(specifier.contains(f"{version}.99") for specifier in specifiers)


def _newest(versions: Iterable[str]) -> str | None:
    return max(versions, key=lambda version: int(version.partition(".")[2]), default=None)
