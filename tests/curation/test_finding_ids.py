import tomllib

from agentbench.curation.finding_ids import find_ids
from agentbench.runs.options import RunOptions
from tests.curation.test_gate import follow
from tests.e2e.small_task import LISTED
from tests.fakes.staging import local_provider, small_task


def test_ids_are_written_and_told_and_the_others_told_why(tmp_path):
    told = []
    tasks = {tmp_path / name: small_task(tmp_path / name, fail_to_pass=()) for name in "ab"}
    tasks[tmp_path / "c"] = small_task(tmp_path / "c", hidden="")
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs", say=told.append)
    faults = find_ids(tasks, options, follow)
    assert list(faults) == [tmp_path / "c"]
    told = [one for one in told if not one.startswith("removed what a killed run left")]
    assert told == [f"{tmp_path / n}/task.toml: 2 fail_to_pass ids written" for n in "ab"]
    written = tomllib.loads((tmp_path / "a" / "task.toml").read_text())["tests"]
    assert written["fail_to_pass"] == list(LISTED)


def test_no_task_is_no_run(tmp_path):
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")
    assert find_ids({}, options, follow) == {}
    assert not (tmp_path / "runs").exists()
