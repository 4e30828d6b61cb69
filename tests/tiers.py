"""Three tiers of tests: quick (`make test`), full (`make test-all`) and soak (`make soak`).

A tier holds the tests of the quicker ones, too. A test is quick unless its folder, its fixtures or
a marker say more: `pytestmark = pytest.mark.full` stands in files whose tests start a sandbox
without a fixture's help, or take six seconds of CPU time. The plugin tests/tier_plugin.py selects
tests by tier and holds each quick test to its tier.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar

import pytest

TESTS = Path(__file__).parent


class Tier(StrEnum):
    """How much of the tests runs, quickest first."""

    QUICK = "quick"
    FULL = "full"
    SOAK = "soak"

    @property
    def rank(self) -> int:
        """Its place: a tier holds what has a lower or the same rank."""
        return list(Tier).index(self)


class Named(Protocol):
    """A row of a table that a test is parametrized with."""

    @property
    def name(self) -> str:
        """What the test is called."""


T = TypeVar("T", bound=Named)


class WrongTierError(pytest.UsageError):
    """A quick test that does what only longer tests may, or a longer one that nobody would run."""


FULL_FOLDERS = ("chaos", "corpora", "e2e", "extensions/symbolic")
"""Folders without quick tests."""

FIXTURES: Mapping[str, Tier] = {
    "attempt_by": Tier.FULL,
    "bare_python": Tier.FULL,
    "browser": Tier.FULL,
    "bubblewrap": Tier.FULL,
    "cluster": Tier.FULL,
    "analysis_containers": Tier.FULL,
    "docker": Tier.FULL,
    "elsewhere": Tier.FULL,
    "engine": Tier.FULL,
    "finished": Tier.FULL,
    "analysis_sandboxes": Tier.FULL,
    "naive": Tier.SOAK,
    "open_node_project": Tier.FULL,
    "open_isolated": Tier.FULL,
    "open_sandbox": Tier.FULL,
    "plain_python": Tier.FULL,
    "process": Tier.FULL,
    "provider": Tier.FULL,
    "isolated": Tier.FULL,
    "ready": Tier.FULL,
    "toolboxes": Tier.FULL,
    "walled": Tier.FULL,
}
"""The tier of a test that uses a fixture, at least."""

CONFORMANCE: Mapping[str, str] = {
    "docker": "sandbox/docker/test_provider.py",
    "bubblewrap": "sandbox/bubblewrap/test_provider.py",
    "process": "sandbox/process/test_provider.py",
}
"""The file of each sandbox's conformance suite, the strongest sandbox first."""

INSTALLATION = "e2e/test_installation.py"
"""Tries each sandbox of the machine."""


def tier_of(item: pytest.Item, strongest: str) -> Tier:
    """The tier of a test, on a machine with this strongest sandbox."""
    path = PurePosixPath(item.path.relative_to(TESTS).as_posix())
    if item.get_closest_marker("soak"):
        return Tier.SOAK
    if proves_installation(path, strongest):
        return Tier.QUICK
    tiers = [place_of(path)]
    tiers += [FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES]
    if item.get_closest_marker("docker") or item.get_closest_marker("full"):
        tiers.append(Tier.FULL)
    return max(tiers, key=lambda tier: tier.rank)


@cache
def place_of(path: PurePosixPath) -> Tier:
    """The lowest tier of the tests in a file, by its folder and its `pytestmark`.

    Files of a longer tier are not imported in a quick run, so this reads only their text.
    """
    if any(path.is_relative_to(folder) for folder in FULL_FOLDERS):
        return Tier.FULL
    text = (TESTS / path).read_text("utf-8")
    return Tier.FULL if _FULL_FILE.search(text) else Tier.QUICK


_FULL_FILE = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.full\b", re.MULTILINE)
_ON_FIXTURES = ("options", "page", "run_folder", "workshop")
"""Fixtures that use one of FIXTURES."""
_FIXTURES_ASKED = re.compile(r"def (\w+)\(([^)]*)\)|(?:usefixtures|getfixturevalue)\(([^)]*)\)")
_LONGER_MARK = re.compile(r"\bmark\.(docker|full|soak)\b|\bgate_and_soak\b")


@cache
def may_exceed_quick(path: PurePosixPath) -> bool:
    """Whether a file can have tests of a longer tier, by its folder and its words alone.

    To import the others costs each worker ten seconds and 200 MB, which a run without the quick
    tests does not need. The plugin checks the answer with each file that it does import.
    """
    if place_of(path) is not Tier.QUICK:
        return True
    text = (TESTS / path).read_text("utf-8")
    asked = " ".join(found for groups in _FIXTURES_ASKED.findall(text) for found in groups)
    names = {*FIXTURES, *_ON_FIXTURES}
    return not names.isdisjoint(re.findall(r"\w+", asked)) or _LONGER_MARK.search(text) is not None


def proves_installation(path: PurePosixPath, strongest: str) -> bool:
    """Whether a file's tests belong to the quick tier although they need sandboxes."""
    return str(path) in (INSTALLATION, CONFORMANCE[strongest])


def gate_and_soak(gate: Iterable[T], rows: Iterable[T]) -> list[Any]:
    """Parameters of a test, named by their `name`: some for the gate, the others for the soak."""
    chosen = {row.name for row in gate}
    return [
        pytest.param(row, id=row.name, marks=() if row.name in chosen else pytest.mark.soak)
        for row in rows
    ]


def chosen_tier(config: pytest.Config) -> Tier:
    """The tier of this session."""
    return Tier(config.getoption("--tier"))
