"""Every task of the corpus has its files, and Harbor's own results or a note why not."""

import json
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[1] / "harbor_corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())
TASKS = {file.parent.name for file in CORPUS.glob("*/task.toml")}
NEVER_JUDGED = {"28-unhealthy", "29-unset-variable"}


def test_every_task_has_harbors_results_or_a_note():
    assert TASKS - set(EXPECTED["tasks"]) == TASKS & set(EXPECTED["notes"])
    assert set(EXPECTED["tasks"]) <= TASKS
    assert len(EXPECTED["tasks"]) >= 25


@pytest.mark.parametrize("task", sorted(EXPECTED["tasks"]))
def test_only_the_solution_has_the_full_reward(task):
    of = {agent: judged["rewards"] for agent, judged in EXPECTED["tasks"][task].items()}
    assert of.keys() == {"oracle", "nop", "wrong"}
    if task in NEVER_JUDGED:
        assert set(of.values()) == {None}
    else:
        assert of["oracle"] not in (None, of["nop"], of["wrong"])


@pytest.mark.parametrize("task", sorted(TASKS))
def test_each_task_has_the_files_that_a_run_needs(task):
    folder = CORPUS / task
    for file in ("wrong/solve.sh", "environment"):
        assert (folder / file).exists(), file
    assert list(folder.glob("**/tests/test.sh"))
    assert list(folder.glob("**/solution/solve.sh"))
