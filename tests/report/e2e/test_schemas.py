import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given

from agentbench.report.json_documents import render_schemas, write_schemas
from tests.runs.records import configuration, records

FOLDER = Path(__file__).parents[3] / "docs" / "schema"
COMMAND = "make docs"
SENTENCE = re.compile(r"[A-Z0-9`p].{7,}\.", re.DOTALL)  # also `name`, pass@k
TEXTS = render_schemas()
VALIDATORS = {
    name: jsonschema.Draft202012Validator(json.loads(text)) for name, text in TEXTS.items()
}


def check_schema(name, schema):
    """Check that a schema fits its dialect, and that a sentence describes each field."""
    validator = jsonschema.Draft202012Validator(schema)
    assert schema["$schema"] == validator.META_SCHEMA["$id"]
    validator.check_schema(schema)
    fields = {
        f"{table}.{field}": value.get("description", "")
        for table, content in {name: schema, **schema["$defs"]}.items()
        for field, value in content.get("properties", {}).items()
    }
    assert len(fields) > 40
    lacking = [field for field, text in fields.items() if not SENTENCE.fullmatch(text)]
    assert lacking == [], "write a docstring below the field"


@pytest.mark.parametrize("name", VALIDATORS)
def test_the_schemas_in_docs_are_current(name):
    assert (FOLDER / name).read_text("utf-8") == TEXTS[name], f"run: {COMMAND}"


def test_they_are_written_where_they_are_wanted(tmp_path: Path):
    write_schemas(tmp_path / "new")
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == (
        render_schemas()
    )


@pytest.mark.parametrize("name", VALIDATORS)
def test_each_is_a_schema_of_its_dialect_with_sentences(name):
    check_schema(name, VALIDATORS[name].schema)


@given(records())
def test_every_record_fits_its_schema(record):
    VALIDATORS["attempt-record.json"].validate(json.loads(record.model_dump_json()))


def test_a_run_fits_its_schema():
    VALIDATORS["run.json"].validate(json.loads(configuration().model_dump_json()))


def test_what_is_no_record_does_not_fit():
    document = json.loads(configuration().model_dump_json())
    with pytest.raises(jsonschema.ValidationError):
        VALIDATORS["attempt-record.json"].validate(document)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATORS["run.json"].validate({**document, "unknown": 1})
