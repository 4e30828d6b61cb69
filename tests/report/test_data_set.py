import json
import re
import tarfile
from datetime import datetime
from pathlib import Path

import datasets
import pyarrow as pa
import pytest
from pyarrow import parquet

from agentbench.attempt.record import PatchRecord, UsageRecord
from agentbench.errors import InputError
from agentbench.report.data_set import arrow_schema, write_parquet
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from tests.runs.records import (
    configuration,
    crashed,
    failed,
    in_steps,
    interrupted,
    lost,
    resolved,
)

ARCHIVES = sorted((Path(__file__).parents[1] / "old_runs").glob("*.tar.xz"))
RECORDS_PAGE = Path(__file__).parents[2] / "docs" / "records.md"
CHANGE = "--- a/é.py\n+++ b/é.py\n"
PATCH = PatchRecord(path="patch.diff", sha256="0", files=1, insertions=0, deletions=0)
RUNS = {
    "without-values": (lost(), failed(attempt=2)),
    "with-values": (
        resolved(
            model="gpt",
            usage=UsageRecord(requests=2, cost_usd=0, llm_errors={"429": 1, "x": 2}),
            agent_run={"ending": AgentEnding.SUBMITTED},
            warnings=("odd",),
            patch=PATCH,
        ),
        in_steps(attempt=2),
    ),
    "other-keys": (
        resolved(rewards={"style": 1}, usage=UsageRecord(cost_usd=0.5, llm_errors={"500": 3})),
        crashed(attempt=2),
        interrupted(attempt=3),
    ),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """What Hugging Face's `load_dataset` makes of files."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)

    def call(*files):
        names = [str(file) for file in files]
        return datasets.load_dataset(
            "parquet", data_files=names, split="train", cache_dir=str(tmp_path / "cache")
        )

    return call


@pytest.fixture
def runs(tmp_path):
    """Runs of today, and of earlier versions."""
    folders = []
    for name, records in RUNS.items():
        store = RunStore.create(tmp_path / "runs", configuration(run_id=name, attempts=3))
        for record in records:
            folder, _ = store.attempt_folder(record.task_id, record.attempt)
            store.append(record.replace(run_id=name), folder)
            if record.patch is not None:
                (store.folder_of(record) / "patch.diff").write_text(CHANGE)
        folders.append(store.folder)
    for archive in ARCHIVES:
        with tarfile.open(archive) as packed:
            packed.extractall(tmp_path, filter="data")
        folders.append(tmp_path / archive.name[:-7] / "run")
    return [ReportedRun.read(folder) for folder in folders]


def written(runs, path):
    with path.open("wb") as target:
        write_parquet(runs, target)
    return path


def differences(cell, value, where=""):
    """Where a row differs from the record in JSON."""
    if isinstance(value, dict) and isinstance(cell, list):
        cell = {entry["key"]: entry["value"] for entry in cell}
    if isinstance(cell, str) and not isinstance(value, str):
        cell = json.loads(cell)
    if isinstance(cell, datetime):
        value = datetime.fromisoformat(value)
    if isinstance(value, dict):
        return [d for key in value for d in differences(cell[key], value[key], f"{where}.{key}")]
    if isinstance(value, list) and len(cell) == len(value):
        pairs = enumerate(zip(cell, value, strict=True))
        return [d for number, pair in pairs for d in differences(*pair, f"{where}[{number}]")]
    return [] if cell == value else [f"{where}: {cell!r} is not {value!r}"]


def test_runs_of_any_version_load_as_one_data_set_with_every_value(runs, load, tmp_path):
    rows = load(written(runs, tmp_path / "all.parquet"))
    records = [record for run in runs for record in run.records()]
    assert len(records) > len(ARCHIVES) + 5
    assert [
        found
        for row, record in zip(rows, records, strict=True)
        for found in differences(row, record.model_dump(mode="json"))
    ] == []


def test_files_of_runs_that_lack_each_others_values_load_together(runs, load, tmp_path):
    files = [written([run], tmp_path / f"{number}.parquet") for number, run in enumerate(runs)]
    rows = load(*files)
    assert len(rows) == sum(len(run.attempts) for run in runs)
    assert rows.features == datasets.Features.from_arrow_schema(arrow_schema())
    assert rows["usage"][2]["cost_usd"] == 0.0
    assert rows["usage"][0] is None


def test_each_column_has_a_type_that_other_readers_know():
    def leaves(kind):
        if pa.types.is_struct(kind):
            return [leaf for field in kind for leaf in leaves(field.type)]
        return leaves(kind.value_type) if pa.types.is_list(kind) else [str(kind)]

    kinds = {leaf for field in arrow_schema() for leaf in leaves(field.type)}
    assert kinds == {"bool", "int64", "double", "string", "timestamp[us, tz=UTC]"}


def test_a_row_has_the_text_of_its_patch(runs, tmp_path):
    table = parquet.read_table(written(runs[:3], tmp_path / "three.parquet"))
    texts = table["patch_text"].to_pylist()
    assert [text for text in texts if text is not None] == [CHANGE]


def test_the_lines_in_the_docs_load_it(runs, tmp_path, monkeypatch, capsys):
    (lines,) = re.findall(r"```python\n(.*?)```", RECORDS_PAGE.read_text("utf-8"), re.DOTALL)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    written(runs[:3], tmp_path / "attempts.parquet")
    exec(compile(lines, str(RECORDS_PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert shown.count("oracle") == 2
    assert "+++ b/é.py" in shown


def test_a_run_without_attempts_has_all_columns(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    file = written([ReportedRun.read(store.folder)], tmp_path / "none.parquet")
    assert parquet.read_schema(file).names == arrow_schema().names
    assert parquet.read_table(file).num_rows == 0


def test_a_number_above_64_bits_is_refused_in_one_line(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    record = resolved(usage=UsageRecord(requests=1 << 70))
    store.append(record, store.attempt_folder(record.task_id, 1)[0])
    with pytest.raises(InputError, match="a record does not fit its columns"):
        written([ReportedRun.read(store.folder)], tmp_path / "big.parquet")
