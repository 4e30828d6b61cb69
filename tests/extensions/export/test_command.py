import importlib.util

import pytest
from pyarrow import parquet

from agentbench.runs.store.store import RunStore
from tests.runs.records import configuration, failed, in_steps, interrupted, lost, resolved

ATTEMPTS = (
    resolved(task_id="one", agent="llm", model="small"),
    failed(task_id="two", agent="llm", model="small"),
    lost(task_id="three", agent="llm", model="large"),
    in_steps(task_id="four", agent="codex", model="large"),
    interrupted(task_id="five", agent="codex"),
    resolved(task_id="six", agent="oracle"),
)
OUT = ("--format", "parquet", "--unchecked", "--output")


@pytest.fixture
def runs_dir(tmp_path):
    store = RunStore.create(tmp_path / "runs", configuration(run_id="mixed"))
    for record in ATTEMPTS:
        own = record.replace(run_id="mixed")
        store.append(own, store.attempt_folder(own.task_id, 1)[0])
    return tmp_path / "runs"


@pytest.fixture
def export(cli, runs_dir, tmp_path):
    def call(*arguments, names=("mixed",), output=OUT):
        return cli("export", *names, "--runs-dir", runs_dir, *output, tmp_path / "set", *arguments)

    return call


def tasks(tmp_path):
    table = parquet.read_table(tmp_path / "set" / "data" / "train.parquet")
    return table["task_id"].to_pylist()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), ["one", "two", "three", "four", "five"]),
        (("--verdict", "resolved"), ["one"]),
        (("--verdict", "failed", "--verdict", "resolved"), ["one", "two", "four"]),
        (("--verdict", "no-verdict"), ["three", "five"]),
        (("--reason", "TESTS_FAILED"), ["one", "two", "four"]),
        (("--reason", "TESTS_FAILED", "--verdict", "failed"), ["two", "four"]),
        (("--fault", "infrastructure"), ["one", "three", "five"]),
        (("--filter", "t*"), ["two", "three"]),
        (("--agent", "cod?x"), ["four", "five"]),
        (("--model", "large"), ["three", "four"]),
        (("--model", "large", "--agent", "llm"), ["three"]),
    ],
)
def test_filters_choose_attempts(export, tmp_path, filters, expected):
    result = export(*filters)
    assert result.code == 0, result.stderr
    assert tasks(tmp_path) == expected


def test_left_out_attempts_are_counted_on_stderr(export, tmp_path):
    result = export("--verdict", "resolved")
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        "4 left out: not selected by the filters",
        "1 left out: the agent is the oracle, which applies the solution",
        "warning: 1 row not checked for leaks",
        f"1 row in {tmp_path / 'set'}",
    ]


def test_same_run_twice_counts_once(export, tmp_path):
    result = export("--verdict", "resolved", names=("mixed", "mixed"))
    assert "is reported once" in result.stderr
    assert tasks(tmp_path) == ["one"]


def test_missing_tasks_are_refused(export):
    result = export(output=("--format", "sft", "--output"))
    assert result.code == 65
    assert "1 of the tasks cannot be read" in result.stderr
    assert "one: one: no task is there any more" in result.stderr
    assert "--tasks PATH, or add --unchecked" in result.stderr


def test_foreign_files_are_not_overwritten(export, tmp_path):
    assert export().code == 0
    result = export()
    assert (result.code, "add --overwrite" in result.stderr) == (2, True)
    assert export("--overwrite", "--verdict", "resolved").code == 0
    assert tasks(tmp_path) == ["one"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "sft", "--verdict", "quarantined"), "expected --verdict failed, resolved"),
        (("--format", "sft", "--verdict", "no-verdict"), "expected --verdict failed, resolved"),
        (("--format", "preference", "--verdict", "no-verdict"), "found no-verdict"),
        (("--format", "preference", "--verdict", "resolved"), "a pair needs both sides"),
        (("--format", "sft", "--test-names"), "--test-names goes with --format parquet"),
        (("--format", "sft", "--pairs-per-task", "0"), "'0' is below 1"),
    ],
)
def test_contradictory_options_are_refused(export, tmp_path, arguments, message):
    result = export(*arguments, output=("--output",))
    assert result.code == 2
    assert message in result.stderr
    assert not (tmp_path / "set").exists()


def test_only_a_table_needs_pyarrow(export, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "agentbench.core.extras.find_spec",
        lambda name: None if name == "pyarrow" else found(name),
    )
    result = export()
    assert (result.code, "--format parquet needs pyarrow" in result.stderr) == (2, True)
    assert export(output=("--format", "sft", "--output")).code == 65  # it went on
