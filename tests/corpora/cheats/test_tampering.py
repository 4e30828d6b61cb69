"""Tests and their configuration are edited: what the judge owns is put back, and it is seen."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.tampering import CHEATS
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

BEATEN_IN_THE_SAME_WAY = {
    "a conftest that ignores the hidden tests",  # as a conftest
    "a conftest in a package of the tests",
    "a hard link for the hidden tests",  # as a symlink for them
    "a file for the folder of the tests",  # as a symlink for the tests
    "visible tests, emptied",  # as deleted ones
    "a module of the program among the tests",
    "a hidden ini file",  # as an ini file, and the next three
    "a file of pytest 9",
    "tox.ini",
    "collects only",
    "a table in pyproject.toml by its parts",  # as a table there
    "other paths of tests",  # as no tests in the folder
    "other names of tests",
    "a module that starts with Python",  # as a module of the standard library
    "a package of the standard library",
    "a module of pytest's own",  # as pytest beside the program
    "a plugin that looks installed",  # as a plugin of an egg
}
"""Cheats of which the gate tries a like one; the soak tries all.

Which paths belong to the judge is tested by tests/integrity/test_verification_protection.py.
"""
IN_THE_GATE = [cheat for cheat in CHEATS if cheat.name not in BEATEN_IN_THE_SAME_WAY]
of_each = pytest.mark.parametrize("cheat", gate_and_soak(IN_THE_GATE, CHEATS))


@of_each
def test_tampering_with_the_tests_does_not_resolve_and_is_seen(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_tampering_fools_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
