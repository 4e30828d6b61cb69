"""No reader of expected values resolves a task whose tests are recorded as sealed or blind."""

from pathlib import Path

import pytest

from agentbench.integrity.records import ControlKind
from agentbench.taxonomy import FailureReason
from tests.corpora.cheats.matrix import CELLS, Cell, controls_of, is_resolved
from tests.corpora.cheats.matrix_rows import ROWS
from tests.corpora.cheats.readers import READERS
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

_IN_THE_GATE = {
    "3 strong beside weak/helper of another file/a constants",
    "4 mocks/assert_has_calls/c objects",
    "5 golden files and helpers/json of a file/c objects",
    "6 round trips/bytes/b sources",
    "7 truths/three equals/d equal",
    "8 stuffing/text/d equal",
    "9 second guess/helper/d equal",
}
"""One cell of each kind; tests/corpora/cheats/test_regressions.py has the second kind."""
IN_THE_GATE = [cell for cell in CELLS if cell.name in _IN_THE_GATE]
FIRST_READER = [cell for cell in CELLS if cell.reader == next(iter(READERS))]


@pytest.mark.parametrize("cell", gate_and_soak(IN_THE_GATE, CELLS))
def test_a_reader_is_not_resolved_unless_the_test_is_weak(
    walled_bench: Bench, tmp_path: Path, cell: Cell
) -> None:
    task = cell.task.write(tmp_path / "task")

    record = walled_bench.command(task, f"set -e; {cell.line}")

    if is_resolved(record):
        right = walled_bench.attempt(task, "oracle")
        assert {controls_of(record), controls_of(right)} == {ControlKind.WEAK}


@pytest.mark.parametrize("cell", gate_and_soak(IN_THE_GATE[:1], FIRST_READER))
def test_the_task_of_a_row_is_valid(walled_bench: Bench, tmp_path: Path, cell: Cell) -> None:
    task = cell.task.write(tmp_path / "task")

    assert is_resolved(walled_bench.attempt(task, "oracle"))
    assert walled_bench.attempt(task, "noop").failure_reason is FailureReason.TESTS_FAILED


def test_each_kind_has_at_least_four_rows() -> None:
    assert {kind[0] for kind in ROWS} == set("3456789")
    assert min(map(len, ROWS.values())) >= 4
    assert len({cell.name for cell in CELLS}) == len(CELLS)
    assert len(IN_THE_GATE) == len(_IN_THE_GATE)
