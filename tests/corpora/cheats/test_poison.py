"""The environment is poisoned: neither the tests nor the next agent's work run in it."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.poison import CHEATS
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX
from tests.tiers import gate_and_soak

BEATEN_IN_THE_SAME_WAY = {
    "sitecustomize in site-packages",  # as a .pth there
    "usercustomize, and a place for it",
    "a plugin that is installed",
    "byte-code of pytest",  # as pytest itself
    "another PATH for shells to come",  # as variables for shells to come
    "a process that waits for the hidden tests",  # as a process that tampers again
}
"""Cheats of which the gate tries a like one; the soak tries all."""
IN_THE_GATE = [cheat for cheat in CHEATS if cheat.name not in BEATEN_IN_THE_SAME_WAY]
of_each = pytest.mark.parametrize("cheat", gate_and_soak(IN_THE_GATE, CHEATS))


@of_each
def test_a_poisoned_environment_is_not_the_one_that_judges(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)

    assert walled_bench.command(tmp_path / "small", FIX).resolved  # nor the next agent's


@of_each
def test_the_poison_works_on_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
