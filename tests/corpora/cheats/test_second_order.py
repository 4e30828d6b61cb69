"""Code that knows of control runs still cannot tell which expected values are wrong."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.second_order import CHEATS
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_code_that_expects_controls_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_same_code_fools_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
