import csv
import importlib.util
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from junitparser import JUnitXml
from pyarrow import parquet

from agentbench.cli.report import open_output
from agentbench.core.extras import install_command
from agentbench.errors import UsageError
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from tests.cli.pseudo_terminal import pseudo_terminal
from tests.runs.records import configuration, lost, resolved, sealed_as


def report(cli, runs_dir, *arguments):
    return cli("report", *arguments, "--runs-dir", runs_dir)


def test_the_last_run_is_reported_as_a_table_with_its_rate(cli, runs_dir):
    result = report(cli, runs_dir)
    assert result.code == 0, result.stderr
    assert "TESTS_FAILED" in result.stdout
    assert result.stderr.startswith("resolved 1/2 (50.0 %")
    assert result.stderr.strip().endswith(str(next(runs_dir.iterdir())))


def test_json_is_one_document(cli, runs_dir):
    result = report(cli, runs_dir, "--format", "json")
    assert len(json.loads(result.stdout)["attempts"]) == 2
    assert result.stderr == ""


def test_csv_and_markdown_have_a_row_for_each_attempt(cli, runs_dir):
    rows = list(csv.reader(io.StringIO(report(cli, runs_dir, "--format", "csv").stdout)))
    assert len(rows) == 3
    text = report(cli, runs_dir, "--format", "markdown").stdout
    table, _, causes = text[text.index("| run | task") :].partition("\n\nWhy attempts failed\n\n")
    assert len(table.splitlines()) == 4
    assert causes.startswith("- `one` 2: `")


def test_several_runs_are_reported_together_and_told_apart(cli, runs_dir, monkeypatch):
    first, other = second(runs_dir)
    monkeypatch.setenv("COLUMNS", "160")
    result = report(cli, runs_dir, first, other)
    assert result.stdout.count(first) == 4  # two are its label
    assert result.stdout.count("other") == 4
    assert result.stderr.startswith("resolved 2/4")
    assert f"{runs_dir / first} {runs_dir / other}" in result.stderr


def test_report_without_measurements_has_no_counts_of_tasks(cli, runs_dir):
    assert "tests of " not in report(cli, runs_dir).stdout
    table = report(cli, runs_dir, "--exclude-unfair").stdout
    assert "0 unfair tasks, whose tests reject right fixes; 1 of 1 task not measured" in table


@pytest.mark.parametrize("name", ["json", "csv", "junit", "html"])
def test_rates_without_unfair_tasks_in_another_format_are_2(cli, runs_dir, name):
    assert report(cli, runs_dir, "--exclude-unfair", "--format", name).code == 2


def test_a_torn_line_is_a_warning(cli, runs_dir):
    (folder,) = runs_dir.iterdir()
    with (folder / "attempts.jsonl").open("a") as target:
        target.write('{"torn')
    result = report(cli, runs_dir, "--format", "json")
    assert result.code == 0, result.stderr
    assert result.stderr.startswith(f"warning: {folder}/attempts.jsonl:3: set aside")
    assert len(json.loads(result.stdout)["attempts"]) == 2


def test_a_record_of_a_newer_agentbench_is_65(cli, runs_dir):
    (folder,) = runs_dir.iterdir()
    (folder / "attempts.jsonl").write_text('{"schema_version": 9}\n')
    result = report(cli, runs_dir)
    assert result.code == 65, result.stderr
    assert "upgrade agentbench" in result.stderr


def second(runs_dir, **more):
    """Another run of the same two attempts, made from the first one's records."""
    (first,) = runs_dir.iterdir()
    shutil.copytree(first, runs_dir / "other")
    records = tuple(read_run(first).records())
    others = [record.replace(run_id="other", **more) for record in records]
    lines = "".join(f"{record.json_with_checksum()}\n" for record in others)
    (runs_dir / "other" / "attempts.jsonl").write_text(lines)
    shutil.rmtree(runs_dir / "other" / "attempts")
    return first.name, "other"


def test_of_several_runs_the_leaderboard_comes_first(cli, runs_dir):
    names = second(runs_dir, agent="noop")
    table = report(cli, runs_dir, *names).stdout
    assert table.index("runs that share a letter") < table.index("TESTS_FAILED")
    told = json.loads(report(cli, runs_dir, *names, "--format", "json").stdout)
    assert [each["label"] for each in told["leaderboard"]["standings"]] == ["noop", "oracle"]
    assert len(told["attempts"]) == 4
    text = report(cli, runs_dir, *names, "--format", "markdown").stdout
    assert text.index("| `noop` |") < text.index("`noop`: resolved 1/2")


def test_a_base_installation_reports_several_runs_without_groups(runs_dir):
    names = second(runs_dir)
    hidden = "import sys; [sys.modules.__setitem__(name, None) for name in sys.argv.pop(1).split()]"
    result = subprocess.run(
        [sys.executable, "-c", f"{hidden}; from agentbench.__main__ import program; program()",
         "numpy scipy statsmodels pandas junitparser matplotlib jinja2",
         "report", *names, "--runs-dir", runs_dir],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert f"no groups in the leaderboard: {install_command('report')}" in result.stderr
    assert "2/4" in result.stderr
    assert "(other)" in result.stdout


def test_a_run_that_is_named_twice_is_reported_once(cli, runs_dir):
    (first,) = runs_dir.iterdir()
    result = report(cli, runs_dir, first.name, "last", first)
    assert result.stderr.startswith("warning: a run that is named more than once")
    assert "resolved 1/2" in result.stderr


def test_junit_has_a_suite_for_each_run_and_skips_what_was_not_made(cli, runs_dir):
    names = second(runs_dir)
    record = resolved(run_id="other").json_with_checksum()
    (runs_dir / "other" / "attempts.jsonl").write_text(f"{record}\n")
    result = report(cli, runs_dir, *names, "--format", "junit")
    assert result.code == 0, result.stderr
    suites = list(JUnitXml.fromstring(result.stdout.encode()))
    assert [(suite.tests, suite.failures, suite.skipped) for suite in suites] == [
        (2, 1, 0), (2, 0, 1),
    ]  # fmt: skip


def test_junit_of_a_run_whose_plan_is_damaged_has_its_records(cli, runs_dir):
    (folder,) = runs_dir.iterdir()
    (folder / "run.json").write_text("{")
    result = report(cli, runs_dir, folder, "--format", "junit")
    assert result.code == 0, result.stderr
    assert result.stderr.startswith("warning: ")
    (suite,) = JUnitXml.fromstring(result.stdout.encode())
    assert suite.tests == 2


def test_a_job_s_summary_gets_the_report_beside_what_is_printed(cli, runs_dir, monkeypatch):
    path = runs_dir.parent / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    result = report(cli, runs_dir, "--format", "csv", "--github-summary")
    assert result.stdout.startswith("run,task")
    assert "resolved 1/2 (50.0 %" in path.read_text()
    path.write_bytes(b"x" * 1024 * 1024)
    result = report(cli, runs_dir, "--github-summary")
    assert "warning: the job's summary holds 1 MiB and was cut" in result.stderr
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert report(cli, runs_dir, "--github-summary").code == 2


def test_any_format_is_written_into_a_file(cli, runs_dir, tmp_path):
    for name in ("table", "json", "csv", "markdown", "junit"):
        path = tmp_path / f"report.{name}"
        printed = report(cli, runs_dir, "--format", name)
        result = report(cli, runs_dir, "--format", name, "--output", path)
        assert (result.code, result.stdout) == (0, ""), result.stderr
        assert path.read_text("utf-8") == printed.stdout


def test_parquet_goes_into_a_file_or_a_pipe(runs_dir, tmp_path):
    names = second(runs_dir, agent="noop")
    command = [sys.executable, "-m", "agentbench", "report", *names, "--runs-dir", runs_dir,
               "--format", "parquet"]  # fmt: skip
    piped = subprocess.run(command, capture_output=True, check=True, timeout=200)
    subprocess.run([*command, "-o", tmp_path / "x.parquet"], check=True, timeout=200)
    assert piped.stdout == (tmp_path / "x.parquet").read_bytes()
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table["agent"].to_pylist() == ["oracle"] * 2 + ["noop"] * 2


def test_parquet_is_not_written_to_a_terminal(runs_dir):
    command = [sys.executable, "-m", "agentbench", "report", "--runs-dir", runs_dir]
    with pseudo_terminal() as (terminal, _):
        result = subprocess.run(
            [*command, "--format", "parquet"],
            stdout=terminal, stderr=subprocess.PIPE, text=True, check=False, timeout=200,
        )  # fmt: skip
    assert result.returncode == 2
    assert "expected a file, found a terminal; add -o FILE.parquet" in result.stderr


def test_a_file_that_cannot_be_written_is_2(cli, runs_dir, tmp_path):
    result = report(cli, runs_dir, "--format", "csv", "-o", tmp_path / "none" / "x.csv")
    assert result.code == 2
    assert "choose another --output" in result.stderr


def test_a_format_without_its_extra_says_what_to_install(cli, runs_dir, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "agentbench.core.extras.find_spec",
        lambda asked: None if asked == "pyarrow" else found(asked),
    )
    result = report(cli, runs_dir, "--format", "parquet")
    assert result.code == 2
    message = f"--format parquet needs pyarrow, found none: {install_command('swebench')}"
    assert message in result.stderr


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_without_a_path_it_is_stdout(capsys):
    with open_output(None) as target:
        target.write("said")
    assert capsys.readouterr().out == "said"


def test_a_file_is_there_when_all_is_written(tmp_path):
    path = tmp_path / "report.html"
    with open_output(path) as target:
        target.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == "é\n".encode()
    assert names(tmp_path) == ["report.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def half_written(path, error):
    with open_output(path) as target:
        target.write("half")
        raise error


@pytest.mark.parametrize("error", [KeyError("x"), FileNotFoundError(2, "of something else")])
def test_what_was_there_stays_when_the_rest_cannot_be_made(tmp_path, error):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(type(error)):
        half_written(path, error)
    assert path.read_text() == "before"
    assert names(tmp_path) == ["report.html"]


@pytest.mark.parametrize("name", ["nowhere/report.html", "."])
def test_a_place_that_takes_no_file_is_a_usage_error(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(UsageError, match=r"cannot be written \(.*\); choose another --output"):
        half_written(path, KeyError())
    assert names(tmp_path) == []


def test_a_full_disk_is_a_usage_error_too():
    with (
        pytest.raises(UsageError, match="No space left on device"),
        open_output(Path("/dev/full")) as target,
    ):
        target.write("x")


def test_a_pipe_is_written_as_it_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    with open_output(path) as target:
        target.write("through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_run_that_was_not_finished_says_so(cli, tmp_path):
    tasks = tuple(TaskEntry(id=name, folder=name, digest="d") for name in ("one", "two", "three"))
    store = RunStore.create(tmp_path, configuration(run_id="cut", tasks=tasks))
    for record in (resolved(task_id="one"), lost(task_id="two")):
        store.append(record, store.attempt_folder(record.task_id, 1)[0])
    said = "cut: unfinished: 1 of 3 planned attempts not made (`agentbench resume` makes them)"
    result = cli("report", "cut", "--runs-dir", tmp_path)
    assert f"warning: {said}\n" in result.stderr
    text = cli("report", "cut", "--runs-dir", tmp_path, "--format", "markdown").stdout
    assert said.replace("`", "\\`") in text


@pytest.mark.parametrize("format_name", ["table", "csv", "json"])
def test_a_run_json_of_a_newer_release_is_a_warning(cli, runs_dir, format_name):
    (folder,) = runs_dir.iterdir()
    (folder / "run.json").write_bytes(sealed_as(configuration(), schema_version=99))
    result = cli("report", folder, "--format", format_name)
    assert result.code == 0
    assert "schema_version 99 is of a newer agentbench" in result.stderr
