import json

import pytest

from agentbench.runs.store.store import RunStore
from tests.extensions.swebench.test_report import PATCH, SUBMITTED
from tests.runs.records import configuration, resolved


def test_a_run_is_reported_as_swe_bench_reports_it(cli, runs_dir):
    result = cli("report", "--runs-dir", runs_dir, "--format", "swebench")
    assert result.code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["total_instances"], document["schema_version"]) == (1, 2)
    assert document["submitted_ids"] == ["one"]
    assert "SWE-bench knows one attempt per instance; the first counts" in result.stderr


def test_each_judged_instance_has_its_own_folder(cli, tmp_path):
    store = RunStore.create(tmp_path / "runs", configuration())
    record = resolved(patch=PATCH, agent_run=SUBMITTED)
    folder, _ = store.attempt_folder(record.task_id, record.attempt)
    store.append(record, folder)
    out = tmp_path / "out"
    arguments = ("report", "--runs-dir", tmp_path / "runs", "--format", "swebench")
    result = cli(*arguments, "--instances", out, "--output", tmp_path / "run.json")
    assert result.code == 0, result.stderr
    assert json.loads((tmp_path / "run.json").read_text())["resolved_ids"] == ["one"]
    assert json.loads((out / "one" / "report.json").read_text())["one"]["resolved"] is True


@pytest.mark.parametrize("name", ["swebench", "predictions"])
def test_several_runs_are_wrong_usage(cli, runs_dir, name):
    RunStore.create(runs_dir, configuration(run_id="other"))
    names = [folder.name for folder in runs_dir.iterdir()]
    result = cli("report", *names, "--runs-dir", runs_dir, "--format", name)
    assert result.code == 2
    assert f"--format {name}: expected one run, found 2; report each" in result.stderr


def test_a_folder_that_cannot_be_written_is_2(cli, tmp_path):
    store = RunStore.create(tmp_path / "runs", configuration())
    folder, _ = store.attempt_folder("one", 1)
    store.append(resolved(patch=PATCH), folder)
    (tmp_path / "file").touch()
    arguments = ("report", "--runs-dir", tmp_path / "runs", "--format", "swebench")
    for target, said in (
        ("file", "expected a folder, found a file"),
        ("file/x", "cannot be written"),
    ):
        result = cli(*arguments, "--instances", tmp_path / target)
        assert result.code == 2
        assert said in result.stderr


@pytest.mark.full
def test_predictions_of_a_run_can_be_submitted_again(cli, tasks, sandbox, tmp_path):
    where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--quiet")
    assert cli("run", tasks / "first", "-a", "oracle", *where).code == 0
    file = tmp_path / "all.jsonl"
    arguments = ("--runs-dir", tmp_path / "runs", "--format", "predictions", "-o", file)
    said = cli("report", "last", *arguments)
    assert (said.code, said.stdout, said.stderr) == (0, "", "")
    (line,) = map(json.loads, file.read_text().splitlines())
    assert list(line) == ["instance_id", "model_name_or_path", "model_patch"]
    assert (line["instance_id"], line["model_name_or_path"]) == ("first", "oracle")
    again = cli("run", tasks / "first", "-a", f"predictions:{file}", "--allow-unsandboxed", *where)
    assert again.code == 0, again.stderr
    assert "resolved 1/1" in again.stderr
