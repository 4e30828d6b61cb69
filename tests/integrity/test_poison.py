"""The environment is poisoned: neither the tests nor the next agent's work run in it."""

from pathlib import Path

import pytest

from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX
from tests.integrity.cheat import Cheat
from tests.integrity.naive import NaiveHarness
from tests.integrity.poison import CHEATS
from tests.integrity.trials import try_cheat, try_naively

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_a_poisoned_environment_is_not_the_one_that_judges(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)

    assert walled_bench.command(tmp_path / "small", FIX).resolved  # nor the next agent's


@of_each
def test_the_poison_works_on_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
