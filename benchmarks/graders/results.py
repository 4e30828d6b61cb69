"""What a run of the graders writes, and the page is made of."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

RESULTS = Path(__file__).with_name("graders.json")


class Cell(TypedDict):
    """What a grader said of one repeat of a row."""

    resolved: bool | None
    detail: str
    evidence: str
    """The file or folder of its verdict, in the folder of --keep."""

    sha256: str
    """Of the file; of a folder: of the lines `sha256sum` prints for its files, sorted by path."""


class Column(TypedDict):
    """What is written of a grader."""

    requirement: str
    python: str
    method: str
    taken: str
    machine: Mapping[str, str | int]
    engine: str
    agentbench: str
    jobs: int
    trials: int
    seconds: float | None
    failed: str | None
    cells: dict[str, list[Cell]]


class RowText(TypedDict):
    """What the page says of a row."""

    name: str
    title: str
    kind: str
    about: str
    honest: bool


class Results(TypedDict):
    """All that is written."""

    rows: list[RowText]
    graders: dict[str, Column]


def read(path: Path = RESULTS) -> Results:
    """What was written; nothing, if nothing was."""
    if not path.exists():
        return {"rows": [], "graders": {}}
    results: Results = json.loads(path.read_text("utf-8"))
    return results


def write(path: Path, results: Results) -> None:
    """Write all."""
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def resolved(cells: list[Cell]) -> int:
    """How many of a row's repeats were resolved."""
    return sum(cell["resolved"] is True for cell in cells)
