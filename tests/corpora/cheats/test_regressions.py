"""A fix that destroys another module does not resolve, whatever it does to that module's tests."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.regressions import CHEATS
from tests.corpora.cheats.trials import gave_wrong_values, try_cheat, try_naively
from tests.e2e.bench import Bench

of_each = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)


@of_each
def test_a_fix_that_destroys_another_module_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    record = try_cheat(walled_bench, cheat, tmp_path)

    assert gave_wrong_values(record)
    assert record.controls is not None
    assert record.controls.sealed is not None
    files = {m.node_id.partition("::")[0] for m in record.controls.sealed.mismatches}
    assert files == {"tests/test_stock.py", "tests/test_stock_classes.py"}


@of_each
def test_it_fools_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
