"""The JSON Schema of the rows of data sets.

`python -m agentbench.extensions.export.row_schema docs/schema` writes it; a test checks that
docs/schema is current.
"""

import sys
from pathlib import Path
from typing import Final

from agentbench.core.schema import Schema
from agentbench.extensions.export.rows import PreferenceRow, SftRow, TableRow
from agentbench.report.json_documents import render_schema

NAME: Final = "export-rows.json"


class ExportRows(Schema):
    """A row of each format of `agentbench export`, except trajectories: Harbor defines those."""

    sft: SftRow
    """A line of `data/train.jsonl` with `--format sft`."""
    preference: PreferenceRow
    """A line of `data/train.jsonl` with `--format preference`."""
    parquet: TableRow
    """A row of `data/train.parquet` with `--format parquet`."""


def row_schema() -> str:
    """The schema as the text of its file."""
    return render_schema(ExportRows, "Rows: agentbench export, by format")


if __name__ == "__main__":
    (Path(sys.argv[1]) / NAME).write_text(row_schema(), "utf-8")
