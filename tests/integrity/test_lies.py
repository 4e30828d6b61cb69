"""The process that runs the tests lies: nothing that it says alone resolves an attempt."""

from pathlib import Path

import pytest

from tests.e2e.bench import Bench
from tests.integrity.cheat import Cheat
from tests.integrity.lies import CHEATS
from tests.integrity.naive import NaiveHarness
from tests.integrity.trials import try_cheat, try_naively

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_a_process_that_lies_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_lie_is_believed_by_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
