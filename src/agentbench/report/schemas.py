"""JSON Schemas of what runs leave on disk and reports print, for programs that read it.

    python -m agentbench.report.schemas docs/schema

writes them; a test holds docs/schema against this module.
"""

import json
import sys
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from agentbench.report.documents import ComparisonDocument, ReportDocument
from agentbench.runs.configuration import RunConfiguration
from agentbench.runs.record import AttemptRecord

_DOCUMENTS: dict[str, tuple[type[BaseModel], str]] = {
    "attempt-record.json": (
        AttemptRecord,
        "One attempt: record.json, and every line of attempts.jsonl",
    ),
    "comparison.json": (ComparisonDocument, "Two runs: agentbench compare --json"),
    "report.json": (
        ReportDocument,
        "Runs: agentbench report --format json, agentbench run --json",
    ),
    "run.json": (RunConfiguration, "One run: run.json"),
}


def render_schemas() -> dict[str, str]:
    """Each schema as the text of its file, by the file's name."""
    return {name: _render(model, title) for name, (model, title) in _DOCUMENTS.items()}


def write_schemas(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render_schemas().items():
        (folder / name).write_text(text, "utf-8")


def _render(model: type[BaseModel], title: str) -> str:
    schema = model.model_json_schema(mode="serialization")
    head = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": title}
    return json.dumps(head, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
