"""The pytest plugin that selects the tests of a tier and holds quick tests to it.

Options:
    --tier TIER           run this tier's tests; full by default
    --without-tier TIER   except the tests of that tier
"""

import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import pytest

from tests.tiers import (
    CONFORMANCE,
    TESTS,
    Tier,
    WrongTierError,
    chosen_tier,
    may_exceed_quick,
    place_of,
    proves_installation,
    tier_of,
)

_STRONGEST = "AGENTBENCH_TESTS_STRONGEST_SANDBOX"
_TOO_LONG = {"bwrap", "chromium", "dockerd", "podman", "sshd"}
_TIER = pytest.StashKey[Tier]()
_LEFT_OUT = "tests_left_out"
_COUNTS = pytest.StashKey[Mapping[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose a tier."""
    group = parser.getgroup("tiers")
    tiers = [str(tier) for tier in Tier]
    group.addoption("--tier", choices=tiers, default=str(Tier.FULL), help="run this tier's tests")
    group.addoption("--without-tier", choices=tiers, help="except the tests of this tier")


def pytest_configure(config: pytest.Config) -> None:
    """Find the strongest sandbox once; xdist's workers inherit the answer."""
    del config
    if _STRONGEST not in os.environ:
        os.environ[_STRONGEST] = _strongest()
    sys.addaudithook(_GUARD.hook)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file whose tests all belong to a longer tier, or to the one left out."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    path = PurePosixPath(collection_path.relative_to(TESTS).as_posix())
    if proves_installation(path, os.environ[_STRONGEST]):
        return None
    if config.getoption("--without-tier") == Tier.QUICK and not may_exceed_quick(path):
        return True
    return place_of(path).rank > chosen_tier(config).rank or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the chosen tier, those that take long first, and count the others."""
    without = config.getoption("--without-tier")
    lowest = Tier(without).rank if without else -1
    left_out: Counter[str] = Counter()
    kept: list[tuple[Tier, pytest.Item]] = []
    others = []
    for item in items:
        tier = item.stash[_TIER] = tier_of(item, os.environ[_STRONGEST])
        check_that_it_is_imported(item, tier)
        if lowest < tier.rank <= chosen_tier(config).rank:
            kept.append((tier, item))
        else:
            others.append(item)
            left_out[str(tier)] += 1
    if others:
        config.hook.pytest_deselected(items=others)
    items[:] = [item for _, item in sorted(kept, key=_order)]
    if hasattr(config, "workeroutput"):
        config.workeroutput[_LEFT_OUT] = dict(left_out)
    config.stash[_COUNTS] = left_out


def pytest_collection_finish() -> None:
    """Exempt modules and tests from garbage collection, which takes a second with them."""
    gc.freeze()


def check_that_it_is_imported(item: pytest.Item, tier: Tier) -> None:
    """Refuse a longer test in a file that a run without the quick tests would not import.

    Raises:
        WrongTierError: It would never run in the gate.
    """
    path = PurePosixPath(item.path.relative_to(TESTS).as_posix())
    if tier is not Tier.QUICK and not may_exceed_quick(path):
        raise WrongTierError(
            f"{item.nodeid} belongs to the tier {tier} by a fixture that its file does not name; "
            "add the fixture that it does name to _ON_FIXTURES in tests/tiers.py"
        )


def _order(placed: tuple[Tier, pytest.Item]) -> tuple[int, bool]:
    """Sorts longer tiers before shorter ones, and first of all the tests that take longest.

    A worker that began a test of half a minute last would end last.
    """
    tier, item = placed
    return -tier.rank, item.get_closest_marker("first") is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Hold what sets a quick test up to its tier."""
    with _guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold a quick test to its tier; what is torn down after it may be of earlier, longer ones."""
    with _guarded(item):
        return (yield)


@contextmanager
def _guarded(item: pytest.Item) -> Iterator[None]:
    """A block in which a quick test starts small things only, unless it proves the installation."""
    path = PurePosixPath(item.path.relative_to(TESTS).as_posix())
    is_free = proves_installation(path, os.environ[_STRONGEST])
    _GUARD.quick_test = item.nodeid if item.stash[_TIER] is Tier.QUICK and not is_free else ""
    try:
        yield
    finally:
        _GUARD.quick_test = ""


class Guard:
    """Refuses what is too long for a quick test, while one runs."""

    def __init__(self) -> None:
        self.quick_test = ""

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """See an event of the interpreter before it happens (`sys.addaudithook`)."""
        if not self.quick_test:
            return
        if event == "subprocess.Popen":
            command = [os.fsdecode(word) for word in (arguments[0], *arguments[1]) if word]
            # setpriv becomes another program; the names that it is given are among its words.
            words = command if PurePosixPath(command[0]).name == "setpriv" else command[:1]
            for name in (PurePosixPath(word).name for word in words):
                if name in _TOO_LONG:
                    self._refuse(f"starts {name}")
        elif event == "socket.connect" and "docker.sock" in str(arguments[1]):
            self._refuse("speaks to a Docker engine")

    def _refuse(self, what: str) -> NoReturn:
        raise WrongTierError(
            f"{self.quick_test} is in the quick tier and {what}; "
            "mark it with pytest.mark.full, or add its fixture to FIXTURES in tests/tiers.py"
        )


_GUARD = Guard()


def _strongest() -> str:
    """The strongest sandbox that works on this machine."""
    from agentbench.errors import SandboxError, UnavailableError
    from agentbench.sandbox.registry import select_back_end

    for name in CONFORMANCE:
        with (
            suppress(UnavailableError, SandboxError),
            tempfile.TemporaryDirectory(prefix="ab-") as cache,
        ):
            select_back_end(name, cache_dir=Path(cache))
            return name
    return "process"


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """Take over what a worker counted; all workers collect the same tests."""
    del error
    counts = getattr(node, "workeroutput", {}).get(_LEFT_OUT)
    if counts is not None:
        node.config.stash[_COUNTS] = counts


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests the tier leaves out."""
    counts = terminalreporter.config.stash.get(_COUNTS, {})
    for tier, count in sorted(counts.items()):
        terminalreporter.write_line(
            f"not run, since they belong to the tier {tier}: {count} collected tests"
        )
