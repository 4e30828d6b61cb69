import json

from agentbench.extensions.export.row_schema import NAME, row_schema
from tests.report.e2e.test_schemas import COMMAND, FOLDER, check_schema


def test_schema_in_docs_is_current():
    assert (FOLDER / NAME).read_text("utf-8") == row_schema(), f"run: {COMMAND}"


def test_it_is_a_schema_of_its_dialect_with_sentences():
    check_schema(NAME, json.loads(row_schema()))
