import json
import subprocess
import sys

import pytest

from agentbench.core.extras import install_command
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from tests.runs.records import ENVIRONMENT, configuration, failed, lost, resolved


def made(runs_dir, name, makers, **more):
    tasks = [TaskEntry(id=f"task-{n}", folder="f", digest="d") for n in range(len(makers))]
    store = RunStore.create(runs_dir, configuration(run_id=name, tasks=tuple(tasks), **more))
    for number, maker in enumerate(makers):
        record = maker(run_id=name, task_id=f"task-{number}", **more)
        store.append(record, store.attempt_folder(record.task_id, record.attempt)[0])
    return store.folder


@pytest.fixture
def two(tmp_path):
    made(tmp_path, "before", [resolved] * 10)
    made(tmp_path, "after", [resolved] * 4 + [failed] * 5 + [lost])
    return tmp_path


def compare(cli, runs_dir, *arguments):
    return cli("compare", *arguments, "--runs-dir", runs_dir)


def test_two_runs_are_compared_in_a_table(cli, two):
    result = compare(cli, two, "before", "after")
    assert result.code == 0, result.stderr
    assert "lost 6 of 10 shared tasks" in result.stdout
    assert "Exact McNemar test" in result.stdout
    assert result.stderr == ""


def test_json_is_one_document_by_either_name(cli, two):
    result = compare(cli, two, "before", "after", "--json")
    assert json.loads(result.stdout) == json.loads(
        compare(cli, two, "before", "after", "--format", "json").stdout
    )
    told = json.loads(result.stdout)
    assert (told["overall"]["tasks"], told["judged"]["tasks"]) == (10, 9)
    assert told["first"]["label"] == "oracle (before)"


def test_rates_without_unfair_tasks_as_json_are_2(cli, two):
    assert compare(cli, two, "before", "after", "--exclude-unfair", "--json").code == 2


def test_markdown_has_a_row_for_each_line(cli, two):
    text = compare(cli, two, "before", "after", "--format", "markdown").stdout
    assert text.startswith("|  | `oracle (before)` | `oracle (after)` |")
    assert "- `task-9` 1/1 \u2192 0/1" in text


def test_a_regression_beyond_chance_is_exit_code_1(cli, two):
    # Judged are five flips of nine tasks, one too few for 5 %: the tenth was the engine's.
    assert compare(cli, two, "before", "after", "--fail-on-regression").code == 0
    result = compare(cli, two, "before", "after", "--fail-on-regression", "--alpha", "0.07")
    assert result.code == 1
    assert (
        result.stderr.strip().splitlines()[-1].startswith("regression: \u221255.6 points, 93 % CI")
    )
    assert compare(cli, two, "after", "before", "--fail-on-regression", "--alpha", "0.07").code == 0


def test_a_single_lost_task_is_exit_code_1_where_strict_is_asked_for(cli, tmp_path):
    made(tmp_path, "before", [resolved, failed])
    made(tmp_path, "after", [failed, resolved])
    loose = compare(cli, tmp_path, "before", "after", "--fail-on-regression")
    assert loose.code == 0
    assert "too few tasks (2) to detect any regression" in loose.stderr
    strict = compare(cli, tmp_path, "before", "after", "--fail-on-regression", "--strict")
    assert strict.code == 1
    assert strict.stderr == "regression: 1 resolved less often: task-0\n"


def test_without_the_check_a_regression_is_only_shown(cli, two):
    assert compare(cli, two, "before", "after", "--alpha", "0.99").code == 0


@pytest.mark.parametrize("alpha", ["0", "1", "-1", "nan", "inf"])
def test_a_level_that_could_never_or_always_fail_is_refused(cli, two, alpha):
    result = compare(cli, two, "before", "after", "--fail-on-regression", "--alpha", alpha)
    assert result.code == 2
    assert "between 0 and 1" in result.stderr


def test_options_that_contradict_each_other_are_refused(cli, two):
    assert compare(cli, two, "before", "after", "--strict").code == 2
    assert compare(cli, two, "before", "after", "--json", "--format", "markdown").code == 2


def test_runs_that_share_no_task_are_65_in_one_line(cli, tmp_path):
    made(tmp_path, "before", [resolved])
    tasks = (TaskEntry(id="elsewhere", folder="f", digest="d"),)
    other = RunStore.create(tmp_path, configuration(run_id="after", tasks=tasks))
    record = resolved(run_id="after", task_id="elsewhere")
    other.append(record, other.attempt_folder(record.task_id, 1)[0])
    result = compare(cli, tmp_path, "before", "after")
    assert result.code == 65
    assert len(result.stderr.splitlines()) == 1
    assert "share no task" in result.stderr


def test_a_run_without_attempts_and_one_that_is_not_there_are_65(cli, tmp_path):
    made(tmp_path, "before", [resolved])
    made(tmp_path, "empty", [])
    assert compare(cli, tmp_path, "before", "empty").code == 65
    assert compare(cli, tmp_path, "before", "nothing").code == 65


def test_a_run_compared_with_itself_is_said_to_be(cli, two):
    result = compare(cli, two, "before", two / "before")
    assert result.code == 0, result.stderr
    assert result.stderr.endswith("compared with itself\n")
    assert "no flips" in result.stdout


def test_a_task_that_was_changed_is_a_warning(cli, tmp_path):
    made(tmp_path, "before", [resolved])
    made(tmp_path, "after", [resolved])
    record = resolved(run_id="after", task_id="task-0", task_digest="other")
    (tmp_path / "after" / "attempts.jsonl").write_text(f"{record.json_with_checksum()}\n")
    page = tmp_path / "after" / "attempts" / "task-0" / "1" / "record.json"
    page.write_text(record.json_with_checksum(indent=1))
    result = compare(cli, tmp_path, "before", "after")
    assert result.stderr == "warning: not the same task in both runs, by its digest: task-0\n"


def ran_with(python, image=None):
    environment = ENVIRONMENT.replace(python=python, image_name=image)
    return lambda **more: resolved(environment=environment, **more)


def test_another_python_or_image_is_a_warning_in_one_line(cli, tmp_path):
    old, new = "agentbench/python:3.11", "agentbench/python:3.13"
    made(
        tmp_path, "before", [ran_with("3.11.2", old), ran_with("3.11.2"), ran_with("3.9.2", "a:1")]
    )
    made(tmp_path, "after", [ran_with("3.13.5", new), ran_with("3.11.9"), ran_with("3.9.2", "a:2")])
    result = compare(cli, tmp_path, "before", "after")
    assert result.stderr == (
        "warning: not the same Python or image in both runs: "
        "task-0 (Python 3.11 → Python 3.13), task-2 (a:1 → a:2)\n"
    )
    document = json.loads(compare(cli, tmp_path, "before", "after", "--json").stdout)
    assert document["changed_interpreters"][1] == {
        "task_id": "task-2", "first": "a:1", "second": "a:2",
    }  # fmt: skip


def test_records_that_name_no_python_are_not_said_to_differ(cli, tmp_path):
    made(tmp_path, "before", [resolved, ran_with("3.11.2")])
    made(tmp_path, "after", [ran_with("3.13.5", "agentbench/python:3.13"), ran_with(None)])
    assert compare(cli, tmp_path, "before", "after").stderr == ""


def test_a_torn_line_is_a_warning(cli, two):
    with (two / "after" / "attempts.jsonl").open("a") as target:
        target.write('{"torn')
    result = compare(cli, two, "before", "after", "--json")
    assert result.stderr.startswith(f"warning: {two / 'after'}/attempts.jsonl:11: set aside")
    assert json.loads(result.stdout)["tasks"] == 10


def test_a_job_s_summary_gets_the_comparison(cli, two, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(two / "summary.md"))
    assert compare(cli, two, "before", "after", "--github-summary").code == 0
    assert "| resolved | 10/10" in (two / "summary.md").read_text()
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    result = compare(cli, two, "before", "after", "--github-summary")
    assert result.code == 2
    assert "GITHUB_STEP_SUMMARY is not set" in result.stderr


def test_without_its_libraries_it_says_what_to_install(two):
    hidden = "import sys; sys.modules['scipy'] = None; sys.argv[0] = 'agentbench'"
    result = subprocess.run(
        [sys.executable, "-c", f"{hidden}; from agentbench.__main__ import program; program()",
         "compare", "before", "after", "--runs-dir", two],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert result.returncode == 2
    expected = f"agentbench compare needs scipy, found none: {install_command('report')}"
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1
