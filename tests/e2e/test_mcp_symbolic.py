"""Every status of every symbolic tool, over real stdio with the SDK's own client."""

import json
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from mcp import MCPError

from agentbench.mcp.symbolic_tools import ENVELOPES, SymbolicTool
from tests.mcp.connection import command_for, over_stdio
from tests.mcp.symbolic_rows import ABSOLUTE, ROWS

NAMES = [row.name for row in ROWS]
STATUSES = {
    "symbolic_check": {"verified", "counterexample", "error", "timeout"},
    "find_path_to_exception": {"found", "unreachable", "error"},
    "compare_functions": {"equivalent", "different", "error"},
    "analyze_branches": {"complete", "error"},
    "health_check": {"healthy"},
}
"""ADR-009's table."""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with over_stdio(command_for(tmp_path_factory.mktemp("project"))) as session:
        yield session


@pytest.fixture(scope="module")
def answers(session):
    with ThreadPoolExecutor(2) as calls:
        made = calls.map(lambda row: session.call(row.tool, row.call), ROWS)
        return dict(zip(NAMES, made, strict=True))


@pytest.fixture(scope="module")
def schemas(session):
    tools = session.portal.call(session.client.list_tools).tools
    return {tool.name: tool.output_schema for tool in tools}


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_each_status_is_answered_as_the_contract_says(answers, row):
    told = answers[row.name].structured_content
    assert (told["status"], told["error_type"]) == (row.status, row.error_type), told["message"]
    assert row.message in told["message"]
    assert {name: told[name] for name in row.fields} == row.fields
    assert {name: told["bounds"][name] for name in row.bounds} == row.bounds


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_each_answer_is_flat_has_every_field_and_fits_the_schema(answers, schemas, row):
    answer = answers[row.name]
    told = answer.structured_content
    assert set(told) == set(ENVELOPES[SymbolicTool(row.tool)].model_fields)
    jsonschema.validate(told, schemas[row.tool])
    assert answer.is_error is (row.status in ("error", "timeout"))
    assert json.loads(answer.content[0].text) == told


def test_the_rows_are_all_of_the_contracts_statuses_and_error_types():
    for tool, statuses in STATUSES.items():
        assert {row.status for row in ROWS if row.tool == tool} == statuses
    kinds = {row.error_type for row in ROWS} - {None}
    assert kinds == {
        "ValueError",
        "SyntaxError",
        "ValidationError",
        "ImportError",
        "TimeoutError",
        "RuntimeError",
    }


def test_what_was_found_really_happens(answers):
    for name in ("counterexample", "counterexample to an assertion", "found"):
        row = next(row for row in ROWS if row.name == name)
        told = answers[name].structured_content
        calls = told.get("counterexamples", told.get("triggering_inputs"))
        namespace = {}
        exec(row.code, namespace)  # our own text
        for call in calls:
            with pytest.raises(Exception) as raised:  # noqa: PT011 - whichever it names
                eval(call["call"], namespace)
            assert type(raised.value).__name__ in call["outcome"]


def test_with_jsonrpc_an_error_goes_out_as_one_with_all_of_the_answer(tmp_path):
    command = command_for(tmp_path, "--error-mode", "jsonrpc")
    with over_stdio(command) as session:
        error = session.call("symbolic_check", {"code": ABSOLUTE, "function_name": "a;b"})
        fine = session.call("health_check")
    assert isinstance(error, MCPError)
    assert error.code == -32602
    assert error.data["error_type"] == "ValueError"
    assert error.data["counterexamples"] == []
    assert fine.structured_content["status"] == "healthy"
