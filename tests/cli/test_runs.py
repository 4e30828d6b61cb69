import json
import os

import pytest

from agentbench.errors import InputError
from agentbench.runs.store.store import RunStore, find_run
from tests.runs.records import configuration, failed, resolved
from tests.scoring.strategies import NOON


@pytest.fixture
def folder(tmp_path):
    """Three runs, of which the last one has a note and tags."""
    marks = {"note": "with hints", "tags": ("nightly", "x=1"), "model": "openai/gpt"}
    for number, (name, record, more) in enumerate(
        (("zeta", resolved(), {}), ("alpha", failed(), {}), ("mid", failed(), marks))
    ):
        began = NOON.replace(hour=number)
        store = RunStore.create(tmp_path, configuration(run_id=name, started_at=began, **more))
        store.append(record, store.attempt_folder(record.task_id, 1)[0])
    return tmp_path


def listed(cli, folder, *arguments):
    rows = json.loads(cli("runs", "--runs-dir", folder, "--json", *arguments).stdout)
    return [row["run"] for row in rows]


def test_runs_are_listed_newest_first_with_notes_and_tags(cli, folder):
    header, first, *others = cli("runs", "--runs-dir", folder).stdout.splitlines()
    assert header.split()[:3] == ["run", "started", "agent"]
    words = ["mid", "oracle", "openai/gpt", "0/1", "nightly x=1", "with hints"]
    assert all(word in first for word in words)
    assert [line.split()[0] for line in others] == ["alpha", "zeta"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--run-tag", "nightly"), ["mid"]),
        (("--run-tag", "nightly", "--run-tag", "y"), []),
        (("--note", "HINTS"), ["mid"]),
        (("--model", "openai/*"), ["mid"]),
        (("--agent", "or*"), ["mid", "alpha", "zeta"]),
        (("--agent", "noop"), []),
        (("--limit", "1"), ["mid"]),
        (("--validation",), []),
    ],
)
def test_runs_are_selected(cli, folder, arguments, names):
    assert listed(cli, folder, *arguments) == names


def test_damaged_run_is_listed_and_older_runs_are_counted(cli, folder):
    (folder / "alpha" / "run.json").write_text("{")
    text = cli("runs", "--runs-dir", folder).stdout
    assert "run.json cannot be read" in text
    assert "2 older not read" in cli("runs", "--runs-dir", folder, "-n", "1").stdout


def test_folder_without_runs_says_so(cli, tmp_path):
    result = cli("runs", "--runs-dir", tmp_path)
    assert (result.code, result.stdout) == (0, "")
    assert "no run here yet; `agentbench run` creates one" in result.stderr


def test_filters_that_match_no_run_say_so(cli, runs_dir):
    result = cli("runs", "--agent", "[", "--runs-dir", runs_dir)
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr == f"{runs_dir}: has runs, but none matches\n"


def test_a_pipe_in_place_of_run_json_hides_no_other_run(cli, runs_dir):
    before = cli("runs", "--runs-dir", runs_dir).stdout
    (runs_dir / "broken").mkdir()
    os.mkfifo(runs_dir / "broken" / "run.json")
    assert cli("runs", "--runs-dir", runs_dir).stdout == before
    message = cli("show", "broken", "--runs-dir", runs_dir).stderr
    assert "broken: no run with that name" in message
    assert "did you mean broken" not in message


def test_run_is_found_by_its_note_and_a_wrong_name_gets_near_ones(folder):
    assert find_run("with hints", folder) == folder / "mid"
    with pytest.raises(InputError, match=r"did you mean alpha\?"):
        find_run("alhpa", folder)
    RunStore.create(folder, configuration(run_id="again", note="with hints"))
    with pytest.raises(InputError, match="the note of several runs: again, mid"):
        find_run("with hints", folder)
