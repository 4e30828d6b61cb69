"""What scripted agents did, as the commands tell it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import call
from tests.e2e.bench import Bench
from tests.e2e.scripted_attempts import SUBMIT, scripted_run
from tests.e2e.small_task import SmallTask
from tests.fakes.scripted_model import Call

pytestmark = pytest.mark.full

LOOK = Call("run", {"command": "cat basket.py"})
FIX = Call("edit", {"path": "basket.py", "old_text": "prices[1:]", "new_text": "prices"})
BREAK = Call("run", {"command": "sed -i 's/min/max/' basket.py"})
TEST = Call("run", {"command": "python -m pytest -q"})


@pytest.fixture
def broken(walled_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose agent breaks what it had fixed."""
    return scripted_run(walled_bench, [LOOK, FIX, TEST, BREAK, SUBMIT], tmp_path, monkeypatch)


def test_show_tells_the_story_of_an_attempt(broken: Path) -> None:
    shown = call("show", broken, "task").stdout
    story = shown.partition("what the agent did\n")[2].partition("\n\n")[0].splitlines()
    assert [line.strip() for line in story] == [
        "At step 3 it opened basket.py, which the reference solution changes.",
        "It edited basket.py at steps 4 and 6.",
        "It ran tests once, at step 5; they passed.",
        "It then edited code at step 6 and did not run tests again.",
        story[4].strip(),
        "In the end, 2 of the 2 tests to fix passed.",
        "Its change broke tests/test_basket.py::test_the_cheapest_is_found.",
        "behaviour: broke-other-tests, right-place-wrong-change, edited-after-last-test, "
        "own-test-missing",
    ]
    assert story[4].strip().startswith("It stopped on its own after ")


def test_tags_are_counted_and_compared(
    broken: Path, walled_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = scripted_run(walled_bench, [LOOK] * 4 + [SUBMIT], tmp_path, monkeypatch)
    listed = call("behaviour", loop, "--tag", "loop").stdout
    assert "step 3: the same call with the same answer, 4 times  (cat basket.py)" in listed
    compared = json.loads(call("behaviour", broken, loop, "--json").stdout)
    rows = {row["tag"]: (row["first"], row["second"]) for row in compared["differences"]}
    assert rows["loop"] == (0, 1)
    assert rows["broke-other-tests"] == (1, 0)
    report = call("report", loop, "--behaviour").stdout
    assert "never-ran-tests" in report


def test_changed_task_leaves_out_what_needs_its_reference(broken: Path, tmp_path: Path) -> None:
    (tmp_path / "task" / "instruction.md").write_text("Another bug.\n")
    (attempt,) = json.loads(call("behaviour", broken, "--json").stdout)["runs"][0]["attempts"]
    assert attempt["unknown"]["wrong-file"] == "the task has changed since"
    assert "edited-after-last-test" in [each["tag"] for each in attempt["found"]]


def test_story_says_when_the_task_was_solved_and_lost_again(
    walled_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [LOOK, FIX, TEST, BREAK, SUBMIT]
    run = scripted_run(walled_bench, script, tmp_path, monkeypatch, timeline=True)
    shown = call("show", run, "task").stdout
    assert "passed after step 4" in shown
    assert "after step 6, which broke tests/test_basket.py::test_the_cheapest_is_found" in shown
    assert "had-it-lost-it" in shown


def test_reference_solution_has_no_story(walled_bench: Bench, tmp_path: Path) -> None:
    record = walled_bench.attempt(SmallTask().write(tmp_path / "task"), "oracle")
    run = walled_bench.options.runs_dir / record.run_id
    assert "what the agent did" not in call("show", run, "task").stdout
