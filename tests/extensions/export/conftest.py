"""Runs that the tests of this folder export, made once."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import datasets
import pytest

from agentbench.core.host import default_cache_dir
from agentbench.extensions.export.data_set import DataSetExport
from agentbench.extensions.export.option_values import ExportFormat
from agentbench.extensions.export.selection import Selection, verdicts_for
from agentbench.extensions.export.settings import ExportCounts, ExportOptions
from agentbench.extensions.export.sources import SourceRun, TaskSources
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from tests.cli.conftest import cli as cli
from tests.extensions.export.recorded_runs import make_runs

NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, dict[str, Path]]:
    return make_runs(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="session")
def task(made: tuple[Task, dict[str, Path]]) -> Task:
    return made[0]


@pytest.fixture
def runs(made: tuple[Task, dict[str, Path]], tmp_path: Path) -> dict[str, Path]:
    copies = {
        name: shutil.copytree(path, tmp_path / "runs" / name) for name, path in made[1].items()
    }
    assert len(copies) == 4
    return copies


class Exporter:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts = ExportCounts()
        self.left_out: list[str] = []

    def __call__(
        self,
        format_name: ExportFormat,
        *folders: Path,
        named: tuple[Task, ...] = (),
        environ: dict[str, str] | None = None,
        verdicts: frozenset = frozenset(),
        **options: Any,
    ) -> Path:
        tasks = TaskSources(
            mirrors=Mirrors(default_cache_dir() / "mirrors"),
            named={task.digest: task for task in named},
        )
        selected = Selection(verdicts=verdicts_for(format_name, verdicts))
        given = {"format": format_name, "selection": selected, "overwrite": True, **options}
        export = DataSetExport(
            [SourceRun.open(folder) for folder in folders],
            tasks,
            ExportOptions(**given),
            environ or {},
        )
        self.counts = export.write(self.folder, NOW)
        self.left_out = list(export.left_out())
        return self.folder

    def lines(self) -> list[dict[str, Any]]:
        text = (self.folder / "data" / "train.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]


@pytest.fixture
def exported(tmp_path: Path) -> Exporter:
    return Exporter(tmp_path / "data-set")


@pytest.fixture
def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path], datasets.Dataset]]:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    datasets.disable_progress_bars()
    yield lambda folder: datasets.load_dataset(
        str(folder), split="train", cache_dir=str(tmp_path / "cache")
    )
    datasets.enable_progress_bars()
