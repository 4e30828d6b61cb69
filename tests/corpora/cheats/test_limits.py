"""Known limits, as docs/integrity.md lists them: the attempt is resolved, with weak controls.

A test here that fails is good news: then the document has to change.
"""

from pathlib import Path

import pytest

from agentbench import AttemptRecord
from tests.corpora.cheats.cheat import adds
from tests.corpora.cheats.shop import HEAD, rich_task
from tests.corpora.cheats.trials import critical
from tests.e2e.bench import Bench
from tests.e2e.small_task import SmallTask

NO_VALUE = rich_task(
    f"""{HEAD}

def test_names_are_in_order():
    found = shop.names([("pear", 1, 5), ("fig", 2, 3)])
    assert found[0] < found[1]
""",
    ["test_names_are_in_order"],
)
POSSIBLE = {
    "a table of the answers": (
        SmallTask(),
        adds("total = lambda prices: {(1, 2, 3): 6, (5,): 5, (): 0}[tuple(prices)]"),
    ),
    "a wrong answer that a weak test takes": (
        NO_VALUE,
        adds("names = lambda lines: ['a', 'b']", to="shop.py"),
    ),
}


@pytest.mark.parametrize(("task", "line"), POSSIBLE.values(), ids=POSSIBLE)
def test_what_the_documents_call_possible_resolves(
    walled_bench: Bench, tmp_path: Path, task: SmallTask, line: str
) -> None:
    record = _judged(walled_bench, tmp_path, task, line)

    assert record.resolved
    assert critical(record) == []


def test_a_record_says_which_tests_are_weakly_controlled(
    walled_bench: Bench, tmp_path: Path
) -> None:
    record = _judged(walled_bench, tmp_path, *POSSIBLE["a wrong answer that a weak test takes"])

    assert record.controls is not None
    weak = [each.function for each in record.controls.weakly_controlled]
    assert weak == ["test_names_are_in_order"]


def _judged(bench: Bench, folder: Path, task: SmallTask, line: str) -> AttemptRecord:
    return bench.command(task.write(folder / "small"), line)
