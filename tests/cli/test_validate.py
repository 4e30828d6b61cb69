import json
import shutil
import tomllib

import pytest

from agentbench.runs.store.store import find_run
from agentbench.validation.stored_proof import read_proof, write_proof
from tests.e2e.small_task import FIXED, HIDDEN, LISTED, SmallTask
from tests.validation.test_mutation_results import strength_of

pytestmark = pytest.mark.full


@pytest.fixture
def validate(cli, sandbox, tmp_path):
    def validate(path, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1")
        quiet = () if "-v" in arguments else ("--quiet",)
        return cli("validate", path, *where, *quiet, *arguments)

    return validate


def test_a_task_that_holds_is_valid(validate, tasks):
    result = validate(tasks / "first")
    assert result.code == 0, result.stderr
    said_of_it = "first  valid    2 runs, not flaky, tests to fix: 2 sealed (100.0 %)\n"
    assert result.stdout == said_of_it
    assert result.stderr.endswith("1 of 1 task is valid\n")


def test_its_runs_are_neither_the_last_nor_in_the_list(validate, cli, tasks, sandbox, tmp_path):
    runs = tmp_path / "runs"
    wanted = ("--run-id", "mine", "--sandbox", sandbox, "--runs-dir", runs, "--quiet")
    assert cli("run", tasks / "first", "-a", "oracle", *wanted).code == 0
    assert validate(tasks / "first", "--write-ids").code == 0
    assert find_run("last", runs).name == "mine"
    assert [path.parent.name for path in runs.glob("*/run.json")] == ["mine"]
    (proof, *_others) = sorted(folder.name for folder in (runs / "validation").iterdir())
    assert cli("show", proof, "first", "--runs-dir", runs).code == 0


def test_progress_says_what_each_run_is_expected_to_show(validate, tasks):
    lines = validate(tasks / "first", "-v").stderr.splitlines()
    with_solution = lines.index("with the reference solution, expected to be resolved: 1 attempt")
    without = lines.index("without a fix, expected to fail: 1 attempt")
    assert lines[with_solution + 1].startswith("1/1 first resolved ")
    assert lines[without + 1].startswith("1/1 first TESTS_FAILED ")


def test_a_task_that_does_not_is_1_and_says_why(validate, tasks):
    result = validate(tasks / "second")
    assert result.code == 1, result.stderr
    assert "second  INVALID  2 runs, not flaky\n" in result.stdout
    assert "  the reference solution ends in TOOL_ERROR: " in result.stdout
    assert result.stderr.endswith("0 of 1 task is valid\n")


def test_json_is_one_document(validate, tasks):
    result = validate(tasks, "--json")
    assert result.code == 1, result.stderr
    assert result.stderr.endswith("tests to fix: 2 sealed (100.0 %)\n1 of 2 tasks are valid\n")
    rows = json.loads(result.stdout)
    assert [(row["id"], row["valid"], row["runs"]) for row in rows] == [
        ("first", True, 2),
        ("second", False, 2),
    ]


def test_what_is_weakly_controlled_and_what_leaks_is_named(validate, tmp_path):
    (tmp_path / "small").mkdir()
    hidden = HIDDEN.replace("assert basket.total([5]) == 5", "basket.total([5]) or 1 / 0")
    files = {**SmallTask().files, "basket.py.orig": FIXED}
    folder = SmallTask(hidden=hidden, files=files).write(tmp_path / "small")
    result = validate(folder)
    assert result.code == 0, result.stderr
    assert "  warning: solution-in-base at basket.py.orig: " in result.stdout
    assert ", tests to fix: 1 sealed (50.0 %), 1 weak (50.0 %)\n" in result.stdout
    function = "tests/test_hidden.py::test_one_price_is_the_total"
    assert f"  warning: not sealed: {function}: " in result.stdout
    assert f"  weakly controlled: {function}: it compares" in result.stdout
    (row,) = json.loads(validate(folder, "--json").stdout)
    assert (row["fail_to_pass"], row["controlled"]) == (2, [LISTED[0]])
    assert row["controls"] == {"sealed": 1, "blind": 0, "weak": 1}
    assert row["weakly_controlled"][0]["function"] == "test_one_price_is_the_total"


def test_ids_are_found_by_running_and_written_down(validate, tmp_path):
    (tmp_path / "small").mkdir()
    folder = SmallTask(fail_to_pass=(), tests="pass_to_pass = []").write(tmp_path / "small")
    result = validate(folder, "--write-ids")
    assert result.code == 0, result.stderr
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    assert tests["fail_to_pass"] == list(LISTED)
    assert tests["pass_to_pass"] == [
        "tests/test_basket.py::test_the_cheapest_is_found",
        "tests/test_basket.py::test_an_empty_basket_costs_nothing",
    ]
    assert "2 fail_to_pass and 2 pass_to_pass ids written" in result.stderr


def test_report_is_a_page_with_the_facts_of_each_task(validate, tasks, tmp_path):
    page = tmp_path / "task-quality.md"
    result = validate(tasks, "--report", page)
    assert result.code == 1, result.stderr
    text = page.read_text()
    assert "| `first` | yes | 1 of 1 | 0 of 1 | 0 | 2 of 2 | not measured |" in text
    assert "| `second` | NO | 0 of 1 | 0 of 1 | 0 |" in text
    assert "**solvable**: the reference solution resolved 1 of 1 attempt\n" in text
    assert "## `second`: INVALID\n\n- the reference solution ends in TOOL" in text


def test_report_of_recorded_proofs_runs_nothing(validate, tmp_path):
    (tmp_path / "small").mkdir()
    folder, page = SmallTask().write(tmp_path / "small"), tmp_path / "page.md"
    assert validate(folder, "--record").code == 0
    proof = read_proof(folder)
    write_proof(folder, proof.replace(strength=strength_of(killed=3, survived=1)))
    result = validate(folder, "--resume", "--report", page)
    assert "proven earlier" in result.stdout
    text = page.read_text()
    assert "resolved 1 of 1 attempt" in text
    assert "**too wide**: 3 of 4 (75.0 %) mutants killed, 1 survived\n" in text


def test_report_in_a_missing_folder_is_2_and_runs_nothing(validate, tasks, tmp_path):
    assert validate(tasks, "--report", tmp_path / "no" / "page.md").code == 2
    assert not (tmp_path / "runs").exists()


def test_a_solution_that_fixes_nothing_leaves_the_file_alone(validate, tasks, tmp_path):
    folder = shutil.copytree(tasks / "second", tmp_path / "second")
    before = (folder / "task.toml").read_text()
    result = validate(folder, "--write-ids")
    assert result.code == 65, result.stderr
    assert "the reference solution makes no failing test pass" in result.stderr
    assert (folder / "task.toml").read_text() == before


CHANCE = """

import secrets
import pytest

@pytest.mark.parametrize("number", range(12))
def test_chance(number):
    assert secrets.token_hex(8) < "8"
"""


def test_a_test_that_sometimes_passes_is_flaky(validate, tmp_path):
    (tmp_path / "small").mkdir()
    folder = SmallTask(hidden=HIDDEN + CHANCE).write(tmp_path / "small")
    result = validate(folder, "--repeat", "3")
    assert result.code == 1, result.stderr
    assert "  flaky: tests/test_hidden.py::test_chance[" in result.stdout
