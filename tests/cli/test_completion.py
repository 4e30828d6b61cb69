"""Completion as shells ask for it: typer's own protocol, in variables of the environment."""

import json

import pytest
from typer.testing import CliRunner

from agentbench.agents.registry import available_agents
from agentbench.cli.app import app
from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import FailureReason, StageName
from tests.runs.records import configuration
from tests.scoring.strategies import NOON


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runs(tmp_path):
    """Two runs; the one with the later start has the earlier id and was written first."""
    for run_id, started_at in (("a", NOON.replace(year=2027)), ("b", NOON)):
        RunStore.create(tmp_path / "runs", configuration(run_id=run_id, started_at=started_at))
    return tmp_path / "runs"


def complete(line: str) -> list[str]:
    """The answer to Tab at the end of a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    asked = {"_AGENTBENCH_COMPLETE": "complete_bash", **words}
    result = CliRunner().invoke(app, [], prog_name="agentbench", env=asked)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout.split()


def test_agents_are_completed():
    names = complete("agentbench run tasks/ --agent ")
    assert [name for name in names if not name.endswith(":")] == list(available_agents())
    assert complete("agentbench run tasks/ --agent cl") == ["claude-code"]
    assert complete("agentbench run -a no") == ["noop"]


@pytest.mark.parametrize(
    "line",
    [
        "agentbench resume ",
        "agentbench rescore ",
        "agentbench show ",
        "agentbench report ",
        "agentbench report a ",
        "agentbench compare ",
        "agentbench compare a ",
        "agentbench audit ",
        "agentbench run --rerun-failed ",
    ],
)
@pytest.mark.usefixtures("runs")
def test_runs_are_completed_newest_first(line):
    assert complete(line) == ["last", "b", "a"]


def test_runs_are_those_of_the_folder_on_the_line(runs):
    runs.rename(runs.with_name("other"))
    assert complete("agentbench resume ") == []
    assert complete("agentbench resume --runs-dir other ") == ["last", "b", "a"]


@pytest.mark.usefixtures("runs")
def test_tasks_of_a_run_are_completed():
    assert complete("agentbench show b ") == ["one"]
    assert complete("agentbench show last o") == ["one"]
    assert complete("agentbench show runs/a ") == ["one"]
    assert complete("agentbench show nobody ") == []


def test_last_is_the_run_that_began_last(runs):
    document = json.loads((runs / "a" / "run.json").read_text())
    document["tasks"][0]["id"] = "of-a"
    (runs / "a" / "run.json").write_text(json.dumps(document))
    assert complete("agentbench show last ") == ["of-a"]


def test_a_damaged_run_is_no_error(runs):
    (runs / "b" / "run.json").write_text('{"tasks": [{"id": 3}, 4, {"id"')
    assert complete("agentbench show b ") == []
    (runs / "b" / "run.json").write_text('{"tasks": [{"id": 3}, 4, {"id": "x"}]}')
    assert complete("agentbench show b ") == ["x"]


@pytest.mark.parametrize(
    "line",
    ["agentbench run mine/ --filter ", "agentbench validate mine --filter ",
     "agentbench tasks list mine --filter "],
)  # fmt: skip
def test_task_ids_are_those_of_the_folders_on_the_line(tmp_path, line):
    for name, text in (("one", ""), ("two", 'id = "second"'), ("three", "id = [")):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "task.toml").write_text(text)
    (tmp_path / "mine" / "no-task").mkdir()
    assert complete(line) == ["one", "second", "three"]
    assert complete("agentbench run mine/two --filter ") == ["second"]
    (tmp_path / "mine").rename(tmp_path / "tasks")
    assert complete("agentbench run --filter ") == ["one", "second", "three"]


def test_failure_reasons_stages_and_sandboxes_are_completed():
    assert complete("agentbench explain ") == list(FailureReason)
    assert complete("agentbench explain TESTS") == ["TESTS_FAILED"]
    assert complete("agentbench explain 137 --stage ") == list(StageName)
    assert complete("agentbench run --sandbox b") == ["bubblewrap"]


def test_descriptions_are_shown_where_the_shell_shows_them():
    asked = {"_AGENTBENCH_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    asked["_TYPER_COMPLETE_ARGS"] = "agentbench explain SETUP_F"
    output = CliRunner().invoke(app, [], prog_name="agentbench", env=asked).stdout
    assert output == f"SETUP_FAILED\t{FailureReason.SETUP_FAILED.description}\n"


def test_the_script_for_a_shell_is_printed():
    environ = {"_AGENTBENCH_COMPLETE": "source_bash"}
    output = CliRunner().invoke(app, [], prog_name="agentbench", env=environ).stdout
    assert "complete -o default -F _agentbench_completion agentbench" in output
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
