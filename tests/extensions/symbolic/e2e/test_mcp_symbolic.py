"""Every status of every symbolic tool, over real stdio with the SDK's own client."""

import json
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from mcp import MCPError

from agentbench.extensions.symbolic.symbolic_tools import SymbolicTool
from tests.extensions.symbolic.symbolic_rows import ABSOLUTE, ROWS
from tests.mcp.connection import command_for, over_stdio
from tests.patience import with_growing_limit

pytestmark = pytest.mark.first

LONGER = (60, 300)  # seconds for a search, on a machine with much else to do
SHORTER = {"equivalent, within bounds": 8}  # its search takes all the time that it is given


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with over_stdio(command_for(tmp_path_factory.mktemp("project"))) as session:
        yield session


@pytest.fixture(scope="module")
def asked(session):
    with ThreadPoolExecutor(2) as calls:
        made = calls.map(lambda row: answered(session, row), ROWS)
        return dict(zip((row.name for row in ROWS), made, strict=True))


@pytest.fixture(scope="module")
def answers(asked):
    return {name: answer for name, (answer, _) in asked.items()}


def answered(session, row):
    """The answer to a row's call; with more time if that was over before the row's point."""

    def call(seconds):
        given = {**row.call, "timeout_seconds": seconds} if row.call else {}
        return session.call(row.tool, given), seconds

    def has_begun(made):
        content = made[0].structured_content
        if "no time was left" in content["message"]:
            return False
        if content["error_type"] != "TimeoutError":
            return True
        came_far = {name: content[name] for name in row.fields} == row.fields
        return row.error_type == "TimeoutError" and came_far

    limit = SHORTER.get(row.name, row.call.get("timeout_seconds", 0))
    return with_growing_limit(call, has_begun, limits=(limit, *LONGER))


@pytest.fixture(scope="module")
def schemas(session):
    tools = session.portal.call(session.client.list_tools).tools
    return {tool.name: tool.output_schema for tool in tools}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_status_is_answered_by_the_contract(asked, row):
    answer, seconds = asked[row.name]
    content = answer.structured_content
    assert (content["status"], content["error_type"]) == (row.status, row.error_type), content[
        "message"
    ]
    assert row.said(seconds) in content["message"]
    assert {name: content[name] for name in row.fields} == row.fields
    assert {name: content["bounds"][name] for name in row.bounds} == row.bounds


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_answers_are_flat_and_fit_the_schema(answers, schemas, row):
    answer = answers[row.name]
    content = answer.structured_content
    assert set(content) == set(SymbolicTool(row.tool).answer.model_fields)
    jsonschema.validate(content, schemas[row.tool])
    assert answer.is_error is (row.status in ("error", "timeout"))
    assert json.loads(answer.content[0].text) == content


def test_found_call_reproduces_in_plain_python(answers):
    for name in ("counterexample", "counterexample to an assertion", "found"):
        row = next(row for row in ROWS if row.name == name)
        content = answers[name].structured_content
        calls = content.get("counterexamples", content.get("triggering_inputs"))
        namespace = {}
        exec(row.code, namespace)  # our own text
        for call in calls:
            with pytest.raises(Exception) as raised:  # noqa: PT011 - whichever it names
                eval(call["call"], namespace)
            assert type(raised.value).__name__ in call["outcome"]


def test_jsonrpc_error_holds_the_whole_answer(tmp_path):
    command = command_for(tmp_path, "--error-mode", "jsonrpc")
    with over_stdio(command) as session:
        error = session.call("symbolic_check", {"code": ABSOLUTE, "function_name": "a;b"})
        fine = session.call("health_check")
    assert isinstance(error, MCPError)
    assert error.code == -32602
    assert error.data["error_type"] == "ValueError"
    assert error.data["counterexamples"] == []
    assert fine.structured_content["status"] == "healthy"
