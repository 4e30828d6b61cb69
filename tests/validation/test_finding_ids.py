import tomllib

from agentbench.runs.options import RunOptions
from agentbench.validation.task_proof import find_deciding_tests
from tests.e2e.small_task import LISTED, SmallTask
from tests.fakes.staging import local_provider, small_task
from tests.validation.test_task_validation import follow


def test_ids_are_written_and_told_and_the_others_told_why(tmp_path):
    told = []
    tasks = {tmp_path / name: small_task(tmp_path / name, fail_to_pass=()) for name in "ab"}
    tasks[tmp_path / "c"] = small_task(tmp_path / "c", hidden="")
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs", say=told.append)
    faults = find_deciding_tests(tasks, options, follow)
    assert list(faults) == [tmp_path / "c"]
    told = [one for one in told if not one.startswith("removed remains of a killed run")]
    assert told == [f"{tmp_path / n}/task.toml: 2 fail_to_pass ids written" for n in "ab"]
    written = tomllib.loads((tmp_path / "a" / "task.toml").read_text())["tests"]
    assert written["fail_to_pass"] == list(LISTED)


VISIBLE_TESTS = [
    "tests/test_basket.py::test_the_cheapest_is_found",
    "tests/test_basket.py::test_an_empty_basket_costs_nothing",
]


def found_beside(tmp_path, more):
    """What is listed for a task with one more test file, and what is said of it."""
    told = []
    files = {**SmallTask().files, "tests/test_more.py": more}
    task = small_task(tmp_path / "a", fail_to_pass=(), tests="pass_to_pass = []", files=files)
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs", say=told.append)
    assert find_deciding_tests({tmp_path / "a": task}, options, follow) == {}
    written = tomllib.loads((tmp_path / "a" / "task.toml").read_text())["tests"]
    assert written["fail_to_pass"] == list(LISTED)
    return written["pass_to_pass"], told


def test_a_test_file_that_cannot_be_imported_hides_no_other(tmp_path):
    kept, told = found_beside(tmp_path, "import nothing_of_that_name\n")
    assert kept == VISIBLE_TESTS
    assert told[-1].endswith("task.toml: 2 fail_to_pass and 2 pass_to_pass ids written")


def test_where_the_whole_suite_does_not_run_the_hidden_files_do(tmp_path):
    kept, told = found_beside(tmp_path, "import os\nos._exit(3)\n")
    assert kept == []
    assert "a: running only the test files that the hidden tests change" in told


def test_no_task_is_no_run(tmp_path):
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")
    assert find_deciding_tests({}, options, follow) == {}
    assert not (tmp_path / "runs").exists()
