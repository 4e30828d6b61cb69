"""Harbor's command, which is too large for the gate: a stand-in runs the same scripts here.

`python -m benchmarks.graders` runs the real one.
"""

import json
import sys
from pathlib import Path

import pytest

HARBOR = f"""#!{sys.executable}
import json, pathlib, subprocess, sys

words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
job = pathlib.Path(words["--jobs-dir"]) / words["--job-name"]
for task in sorted(pathlib.Path(words["--path"]).iterdir()):
    trial = job / task.name
    app, logs = trial / "app", trial / "verifier"
    app.mkdir(parents=True)
    logs.mkdir()
    env = {{"LOGS": str(logs), "PATH": "/usr/bin:/bin", "HOME": str(app)}}
    for script in ("solution/solve.sh", "tests/test.sh"):
        subprocess.run(["sh", task / script], cwd=app, env=env, check=False)
    found = logs / "reward.txt"
    rewards = {{"reward": float(found.read_text())}} if found.is_file() else None
    (trial / "result.json").write_text(json.dumps({{
        "config": {{"task": {{"path": str(task)}}}},
        "verifier_result": {{"rewards": rewards}},
        "exception_info": None,
    }}))
"""


@pytest.fixture
def harbor(monkeypatch, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "harbor").write_text(HARBOR)
    (folder / "harbor").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def harbor_task(folder: Path, judged: str) -> Path:
    for name in ("environment", "solution", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text('version = "1.0"\n')
    (folder / "solution" / "solve.sh").write_text("echo right > answer\n")
    (folder / "tests" / "test.sh").write_text(judged)
    return folder


@pytest.mark.usefixtures("harbor")
def test_each_kind_is_a_solution_of_its_own(cli, tmp_path):
    # Only kinds that write into the working folder: the stand-in has no sandbox.
    # Half a reward for no change is usual.
    judged = "if test -f conftest.py || test -f answer; then echo 1; else echo 0.5; fi"
    judged += " > $LOGS/reward.txt\n"
    task = harbor_task(tmp_path / "sum", judged)
    kinds = ("--kind", "conftest-hook", "--kind", "pytest-configuration")
    result = cli("redteam", task, "--grader", "harbor", *kinds, "--runs-dir", tmp_path, "--json")
    assert result.code == 1, result.stderr
    found = {row["kind"]: row for row in json.loads(result.stdout)}
    assert {name: row["rewarded"] for name, row in found.items()} == {
        "reference": True,
        "nothing": False,
        "conftest-hook": True,
        "pytest-configuration": False,
    }
    assert found["conftest-hook"]["detail"] == "reward 1.0"
    assert Path(found["conftest-hook"]["folder"]).is_dir()


@pytest.mark.usefixtures("harbor")
def test_task_that_rewards_everything_shows_nothing(cli, tmp_path):
    task = harbor_task(tmp_path / "sum", "echo 1 > $LOGS/reward.txt\n")
    kind = ("--kind", "conftest-hook")
    result = cli("redteam", task, "--grader", "harbor", *kind, "--runs-dir", tmp_path)
    assert result.code == 65
    assert "the attempt `nothing`: expected no reward for no change, found: reward 1" in (
        result.stderr
    )


@pytest.mark.usefixtures("harbor")
def test_attempt_without_a_reward_has_no_verdict(cli, tmp_path):
    judged = (
        "if test -f conftest.py; then exit; fi\nif test -f answer; then echo 1; else echo 0; fi"
    )
    task = harbor_task(tmp_path / "sum", f"{judged} > $LOGS/reward.txt\n")
    kind = ("--kind", "conftest-hook")
    result = cli("redteam", task, "--grader", "harbor", *kind, "--runs-dir", tmp_path / "runs")
    assert result.code == 75
    assert "conftest-hook         no verdict" in result.stdout
    assert "0 of 1 cheat would earn a reward from harbor; 1 without a verdict" in result.stderr


@pytest.mark.usefixtures("harbor")
def test_tasks_of_one_name_and_results_in_a_task_are_refused(cli, tmp_path, monkeypatch):
    task = harbor_task(tmp_path / "a" / "sum", "true\n")
    harbor_task(tmp_path / "b" / "sum", "true\n")
    result = cli("redteam", tmp_path / "a", tmp_path / "b", "--grader", "harbor")
    assert result.code == 65
    assert "another task is named sum, too" in result.stderr
    monkeypatch.chdir(task)
    result = cli("redteam", ".", "--grader", "harbor")
    assert result.code == 2
    assert "--runs-dir: runs/redteam/" in result.stderr


@pytest.mark.parametrize("option", ["--sandbox=docker", "--no-cache", "--tag=x"])
def test_options_without_effect_are_refused(cli, option):
    result = cli("redteam", "tasks", "--grader", "harbor", option)
    assert result.code == 2
    name = option.partition("=")[0]
    assert f"{name} has no effect with --grader harbor" in result.stderr


def test_missing_command_is_named(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    task = harbor_task(tmp_path / "sum", "true\n")
    result = cli("redteam", task, "--grader", "harbor", "--runs-dir", tmp_path)
    assert result.code == 69
    assert "--grader harbor: expected the command harbor on PATH, found none" in result.stderr
