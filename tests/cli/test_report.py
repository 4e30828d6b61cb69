import csv
import io
import json
import shutil

from agentbench.runs.store import RunStore


def report(cli, runs_dir, *arguments):
    return cli("report", *arguments, "--runs-dir", runs_dir)


def test_the_last_run_is_reported_as_a_table_with_its_rate(cli, runs_dir):
    said = report(cli, runs_dir)
    assert said.code == 0, said.stderr
    assert "TESTS_FAILED" in said.stdout
    assert said.stderr.startswith("resolved 1/2 (50.0 %")
    assert said.stderr.strip().endswith(str(next(runs_dir.iterdir())))


def test_json_is_one_document(cli, runs_dir):
    said = report(cli, runs_dir, "--format", "json")
    assert len(json.loads(said.stdout)["attempts"]) == 2
    assert said.stderr == ""


def test_csv_and_markdown_have_a_row_for_each_attempt(cli, runs_dir):
    rows = list(csv.reader(io.StringIO(report(cli, runs_dir, "--format", "csv").stdout)))
    assert len(rows) == 3
    text = report(cli, runs_dir, "--format", "markdown").stdout
    assert sum(line.startswith("| ") for line in text.splitlines()) == 4


def test_several_runs_are_reported_together_and_told_apart(cli, runs_dir, monkeypatch):
    (first,) = runs_dir.iterdir()
    shutil.copytree(first, runs_dir / "other")
    records = RunStore.open(first).read().records
    others = [record.model_copy(update={"run_id": "other"}) for record in records]
    lines = "".join(f"{record.sealed_json()}\n" for record in others)
    (runs_dir / "other" / "attempts.jsonl").write_text(lines)
    monkeypatch.setenv("COLUMNS", "160")
    said = report(cli, runs_dir, first.name, "other")
    assert said.stdout.count(first.name) == said.stdout.count("other") == 2
    assert said.stderr.startswith("resolved 2/4")
    assert f"{first} {runs_dir / 'other'}" in said.stderr


def test_a_torn_line_is_a_warning(cli, runs_dir):
    (folder,) = runs_dir.iterdir()
    with (folder / "attempts.jsonl").open("a") as target:
        target.write('{"torn')
    said = report(cli, runs_dir, "--format", "json")
    assert said.code == 0, said.stderr
    assert said.stderr.startswith(f"warning: {folder}/attempts.jsonl:3: set aside")
    assert len(json.loads(said.stdout)["attempts"]) == 2


def test_a_run_that_is_not_there_is_65(cli, runs_dir, tmp_path):
    assert report(cli, runs_dir, "nothing").code == 65
    said = report(cli, tmp_path / "empty")
    assert said.code == 65, said.stderr
    assert "no run here yet" in said.stderr


def test_a_record_of_a_newer_agentbench_is_65(cli, runs_dir):
    (folder,) = runs_dir.iterdir()
    (folder / "attempts.jsonl").write_text('{"schema_version": 9}\n')
    said = report(cli, runs_dir)
    assert said.code == 65, said.stderr
    assert "upgrade agentbench" in said.stderr
