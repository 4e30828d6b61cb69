import jsonschema
import pytest

from agentbench.mcp.pytest_tools import explanation_answer, internal_error
from agentbench.mcp.server import compact_schema
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.test_runs.model import CaseResult, CollectionError, PytestSummary, Versions
from agentbench.test_tools.answers import invalid_arguments
from agentbench.test_tools.envelope import PytestAnswer

SCHEMA = compact_schema(PytestAnswer.model_json_schema(mode="serialization"))
FULL = PytestAnswer(
    status="success",
    outcome="failed",
    message="1 failed",
    exit_code=1,
    summary=PytestSummary(total=1, failed=1, duration=0.5),
    tests=(CaseResult(node_id=NodeId("t.py::a"), outcome=CaseOutcome.FAILED, duration=0.5),),
    json_report={"any": ["thing"]},
    collection_errors=(CollectionError(file="t.py", message="no"),),
    source=ReportSource.STREAM,
    omitted=("text_output",),
    versions=Versions(pytest="9", python="3.11"),
    node_ids=(NodeId("t.py::a"),),
).model_dump(mode="json")


@pytest.mark.parametrize(
    "answer", [explanation_answer("x"), internal_error("1"), invalid_arguments(["a"]), FULL]
)
def test_every_answer_fits(answer):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(answer, SCHEMA)


def test_no_field_is_missing():
    assert set(SCHEMA["properties"]) == set(PytestAnswer.model_fields)
    assert SCHEMA["required"] == ["status", "outcome", "message"]
    assert "$defs" not in SCHEMA


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"outcome": "fine"},
        {"error_type": "OSError"},
        {"exit_code": "1"},
        {"summary": {"total": "1"}},
        {"tests": [{"outcome": "fine"}]},
        {"tests": ["t.py::a"]},
        {"source": "rumour"},
        {"error": []},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_answer_does_not(change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**FULL, **change}, SCHEMA)
