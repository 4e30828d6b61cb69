"""The harness itself is attacked: it neither resolves nor fails, and it says what it refused."""

from pathlib import Path

import pytest

from tests.e2e.bench import Bench
from tests.integrity.attacks import CHEATS
from tests.integrity.cheat import Cheat
from tests.integrity.naive import NaiveHarness
from tests.integrity.trials import try_cheat, try_naively

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_an_attack_on_the_harness_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_attack_works_on_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
