"""Tests and their configuration are edited: what the judge owns is put back, and it is seen."""

from pathlib import Path

import pytest

from tests.e2e.bench import Bench
from tests.integrity.cheat import Cheat
from tests.integrity.naive import NaiveHarness
from tests.integrity.tampering import CHEATS
from tests.integrity.trials import try_cheat, try_naively

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_tampering_with_the_tests_does_not_resolve_and_is_seen(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_tampering_fools_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
