"""The harness itself is attacked: it neither resolves nor fails, and it says what it refused."""

from pathlib import Path

import pytest

from tests.corpora.cheats.attacks import CHEATS
from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

IN_THE_GATE = [cheat for cheat in CHEATS if cheat.name != "20,000 files"]
"""Attacks of which the gate tries a like one: another one leaves too much to be taken out."""

of_each = pytest.mark.parametrize("cheat", gate_and_soak(IN_THE_GATE, CHEATS))


@of_each
def test_an_attack_on_the_harness_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_attack_works_on_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
