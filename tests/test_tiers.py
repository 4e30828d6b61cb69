"""Every test has a tier, and a quick test that is none is told so."""

import socket
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tests.tier_plugin import Guard, check_that_it_is_imported
from tests.tiers import (
    INSTALLATION,
    TESTS,
    Tier,
    WrongTierError,
    gate_and_soak,
    may_exceed_quick,
    proves_installation,
    tier_of,
)


@pytest.mark.parametrize(
    ("file", "strongest", "is_proof"),
    [
        ("sandbox/docker/test_provider.py", "docker", True),
        ("sandbox/docker/test_provider.py", "bubblewrap", False),
        ("sandbox/bubblewrap/test_provider.py", "bubblewrap", True),
        (INSTALLATION, "process", True),
    ],
)
def test_the_installation_is_proven_by_the_strongest_sandbox(file, strongest, is_proof):
    assert proves_installation(PurePosixPath(file), strongest) is is_proof


class Item:
    """As much of a test as its tier depends on."""

    def __init__(self, path, *, fixtures=(), marks=()):
        self.path = TESTS / path
        self.fixturenames = fixtures
        self.marks = marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


@pytest.mark.parametrize(
    ("item", "tier"),
    [
        (Item("scoring/test_verdict.py"), Tier.QUICK),
        (Item("chaos/test_hostile.py"), Tier.FULL),
        (Item("report/test_formats.py", fixtures=("browser",)), Tier.FULL),
        (Item("cli/test_app.py", marks=("docker",)), Tier.FULL),
        (Item("corpora/cheats/test_lies.py", fixtures=("naive",)), Tier.SOAK),
        (Item("scoring/test_verdict.py", marks=("soak",)), Tier.SOAK),
        (Item("cli/test_run.py"), Tier.FULL),  # by its pytestmark
        (Item("cli/test_app.py", marks=("full",)), Tier.FULL),
        (
            Item("sandbox/docker/test_provider.py", fixtures=("provider",), marks=("docker",)),
            Tier.QUICK,
        ),
    ],
)
def test_the_tier_follows_from_folder_file_fixtures_and_marks(item, tier):
    assert tier_of(item, "docker") is tier


@pytest.mark.parametrize(
    ("file", "may"),
    [
        ("core/test_schema.py", False),
        ("chaos/test_hostile.py", True),  # by its folder
        ("sandbox/test_registry.py", True),  # by a fixture
        ("test_browser.py", True),  # by a fixture that uses one
        ("corpora/cheats/test_lies.py", True),
        ("attempt/stages/test_setup.py", True),
    ],
)
def test_a_file_says_whether_it_can_have_longer_tests(file, may):
    assert may_exceed_quick(PurePosixPath(file)) is may


def test_a_longer_test_in_a_file_that_does_not_say_so_is_refused():
    item = Item("core/test_schema.py", fixtures=("browser",))
    item.nodeid = "tests/core/test_schema.py::test_it"
    check_that_it_is_imported(item, Tier.QUICK)
    with pytest.raises(WrongTierError, match="test_it belongs to the tier full by a fixture"):
        check_that_it_is_imported(item, Tier.FULL)


def test_rows_that_are_not_for_the_gate_are_for_the_soak():
    rows = [Path("a"), Path("b")]
    first, second = gate_and_soak(rows[:1], rows)
    assert (first.id, list(first.marks)) == ("a", [])
    assert (second.id, [mark.name for mark in second.marks]) == ("b", ["soak"])


@pytest.fixture
def guard():
    guard = Guard()
    guard.quick_test = "tests/x.py::test_y"
    return guard


@pytest.mark.parametrize("program", ["bwrap", "/usr/bin/chromium"])
def test_a_quick_test_that_starts_a_sandbox_or_a_browser_is_told_so(guard, program):
    with pytest.raises(WrongTierError, match=r"test_y is in the quick tier and starts \w+"):
        guard.hook("subprocess.Popen", (program, [program], None, None))
    with pytest.raises(WrongTierError, match="starts"):
        guard.hook("subprocess.Popen", (None, [program], None, None))
    with pytest.raises(WrongTierError, match="starts"):
        guard.hook("subprocess.Popen", ("setpriv", ["setpriv", "--", program], None, None))


def test_a_quick_test_that_speaks_to_an_engine_is_told_so(guard):
    with pytest.raises(WrongTierError, match="speaks to a Docker engine"):
        guard.hook("socket.connect", (None, "/var/run/docker.sock"))


def test_other_programs_and_addresses_are_free(guard):
    guard.hook("subprocess.Popen", ("git", ["git", "status"], None, None))
    guard.hook("socket.connect", (None, ("127.0.0.1", 80)))
    guard.quick_test = ""
    guard.hook("subprocess.Popen", ("bwrap", ["bwrap"], None, None))


def test_the_guard_of_this_session_sees_what_a_test_starts():
    with pytest.raises(WrongTierError, match="test_the_guard_of_this_session"):
        subprocess.run(["bwrap", "--version"], check=True)
    with socket.socket(socket.AF_UNIX) as connection, pytest.raises(WrongTierError):
        connection.connect("/nowhere/docker.sock")
