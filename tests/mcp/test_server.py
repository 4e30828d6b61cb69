from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from mcp import MCPError

from agentbench.mcp.pytest_tools import explanation_answer, internal_error
from agentbench.mcp.server import compact_schema
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.test_runs.model import CaseResult, CollectionError, PytestSummary, Versions
from agentbench.test_tools.answers import invalid_arguments
from agentbench.test_tools.envelope import PytestAnswer
from tests.mcp.connection import command_for, misfit_command, over_http, over_stdio
from tests.mcp.rows import ROWS
from tests.patience import with_growing_limit
from tests.tiers import Tier, chosen_tier

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


CONNECT = {"stdio": over_stdio, "http": over_http}
KINDS = [(transport, mode) for transport in CONNECT for mode in ("structured", "jsonrpc")]
IN_THE_GATE = [("stdio", "structured"), ("http", "jsonrpc")]
"""Each transport and each mode once: how an answer is sent does not hang on what stands in it."""


@pytest.fixture(scope="module")
def all_answers(suites, plain_python, bare_python, pytestconfig):
    """What each row's call came back with, on two servers of each kind; all kinds at a time."""
    asked = KINDS if chosen_tier(pytestconfig) is Tier.SOAK else IN_THE_GATE

    def ask(kind):
        transport, mode = kind
        options = ("--transport", transport, "--error-mode", mode, "--python", str(plain_python))
        port = ("--port", "0") if transport == "http" else ()
        misfit = misfit_command(suites, bare_python, mode, transport)
        with (
            CONNECT[transport](command_for(suites, *options, *port)) as fit,
            CONNECT[transport](misfit) as misfit,
        ):
            return ask_for_every_row(fit, misfit)

    with ThreadPoolExecutor(len(asked)) as kinds:
        return dict(zip(asked, kinds.map(ask, asked), strict=True))


def ask_for_every_row(fit, misfit):
    with ThreadPoolExecutor(2) as calls:
        made = {
            row.name: calls.submit(answered, misfit if row.misfit else fit, row) for row in ROWS
        }
        answers = {name: call.result() for name, call in made.items()}
    answers["unknown tool"] = fit.call("rm -rf /\x1b[31m", {})
    answers["still up"] = fit.call("explain_failure", {"exit_code": 5})
    return answers


def answered(session, row):
    """The answer to a row's call, within a limit in which its tests began if it has limits."""
    if not row.limits:
        return session.call(row.tool, row.call)
    return with_growing_limit(
        lambda seconds: session.call(row.tool, {**row.call, "timeout_s": seconds}),
        lambda answer: outcomes_in(answer) == row.tests,
        limits=row.limits,
    )


def outcomes_in(answer):
    """Name to outcome, of every test that an answer tells of."""
    is_error = isinstance(answer, MCPError)
    envelope = answer.error.data["result"] if is_error else answer.structured_content
    return {case["node_id"].rpartition("::")[2]: case["outcome"] for case in envelope["tests"]}


@pytest.fixture(
    params=[
        pytest.param(kind, id=" ".join(kind), marks=() if kind in IN_THE_GATE else pytest.mark.soak)
        for kind in KINDS
    ]
)
def answers(request, all_answers):
    return {**all_answers[request.param], "mode": request.param[1]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_outcome_is_answered_as_the_table_says(answers, row):
    answer = answers[row.name]
    if answers["mode"] == "jsonrpc" and row.code is not None:
        assert_a_protocol_error(answer, row)
        return
    envelope = answer.structured_content
    assert envelope["outcome"] == row.outcome
    assert any(message in envelope["message"] for message in row.messages)
    assert answer.is_error is (row.code is not None)
    assert envelope["status"] == ("error" if answer.is_error else "success")
    assert envelope["error_type"] == row.error_type
    assert outcomes_in(answer) == row.tests
    if row.code is None:
        assert envelope["error"] is None
    else:
        assert envelope["error"]["code"] == row.code
        assert envelope["error"]["message"] == envelope["message"]
        assert envelope["error"]["data"]["error_type"] == row.outcome


def assert_a_protocol_error(error, row):
    assert isinstance(error, MCPError)
    assert error.code == row.code
    assert any(message in error.message for message in row.messages)
    assert error.data["error_type"] == row.outcome
    assert outcomes_in(error) == row.tests


def test_a_tool_that_is_not_there_is_a_protocol_error_in_both_modes(answers):
    error = answers["unknown tool"]
    assert isinstance(error, MCPError)
    assert error.code == -32602
    assert error.message.startswith(r"there is no tool 'rm -rf /\x1b[31m'; known: execute_tests")


def test_the_server_is_up_after_all_of_it(answers):
    assert answers["still up"].structured_content["outcome"] == "explained"


def test_no_answer_names_a_folder_of_this_machine(answers, suites, plain_python):
    told = "".join(
        str(answer.error if isinstance(answer, MCPError) else answer) for answer in answers.values()
    )
    for place in (suites, plain_python.parent, "misfit_server.py", "/etc"):
        assert str(place) not in told
    for trace_of_ours in ("ZeroDivisionError", "tools.py", "calls.py"):
        assert trace_of_ours not in told
