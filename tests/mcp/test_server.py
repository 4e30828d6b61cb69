from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.from_thread
import jsonschema
import pytest
from mcp import MCPError

from agentbench.errors import RunCancelled
from agentbench.mcp.pytest_tools import explanation_answer, internal_error
from agentbench.mcp.server import CallCancelledError, compact_schema, run_in_thread
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.test_runs.model import CaseResult, CollectionError, PytestSummary, Versions
from agentbench.test_runs.report_files import RunProgress
from agentbench.test_tools.answers import invalid_arguments
from agentbench.test_tools.envelope import PytestAnswer
from tests.mcp.connection import command_for, misfit_command, over_http, over_stdio
from tests.mcp.rows import ROWS
from tests.patience import HANG_SECONDS, wait_until, with_growing_limit
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


HANGING = """
import os, pathlib, subprocess, sys, time

def test_quick(): pass

def test_hangs():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""

WAITING = """
import pathlib, time, pytest

@pytest.mark.parametrize("n", range(30))
def test_n(n):
    while n == 29 and not pathlib.Path("told").exists():
        time.sleep(0.02)
"""
"""Goes on to its end once progress was told."""


@pytest.fixture
def hanging(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    return tmp_path


@pytest.fixture
def served(hanging, plain_python):
    """Opens a client of a server for the hanging suite."""

    @contextmanager
    def connect(how, mode="auto"):
        options = ["--python", str(plain_python)]
        if how is over_http:
            options += ["--transport", "http", "--port", "0"]
        with how(command_for(hanging, *options), mode) as session:
            yield session

    return connect


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids_in(folder):
    """The processes of the hanging test; none until it hangs."""
    path = folder / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def wait_for_pids(folder):
    """The processes of the hanging test, once it hangs."""
    wait_until(lambda: pids_in(folder))
    return pids_in(folder)


def wait_until_none_runs(pids):
    """Wait for the end of processes that would run for much longer by themselves."""
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_timeout_answers_with_what_was_done_and_leaves_no_process(served, hanging):
    def called_for(seconds):
        return session.call("execute_tests", {"timeout_s": seconds}).structured_content

    with served(over_stdio) as session:
        answer = with_growing_limit(called_for, lambda _: pids_in(hanging), limits=(2, 10, 60))
        wait_until_none_runs(pids_in(hanging))
    assert answer["outcome"] == "timeout"
    assert {case["node_id"]: case["outcome"] for case in answer["tests"]} == {
        "test_hanging.py::test_quick": "passed",
        "test_hanging.py::test_hangs": "unfinished",
    }


@pytest.mark.parametrize(
    ("how", "mode"),
    [(over_stdio, "auto"), (over_stdio, "legacy"), (over_http, "auto"), (over_http, "legacy")],
    ids=["stdio, 2026-07-28", "stdio, 2025-11-25", "http, 2026-07-28", "http, 2025-11-25"],
)
def test_a_cancelled_call_leaves_no_process(served, hanging, how, mode):
    with served(how, mode) as session:

        async def call_and_cancel():
            async with anyio.create_task_group() as group:
                group.start_soon(session.client.call_tool, "execute_tests", {})
                pids = await anyio.to_thread.run_sync(wait_for_pids, hanging)
                group.cancel_scope.cancel()
            return pids

        wait_until_none_runs(session.portal.call(call_and_cancel))
        answer = session.call("explain_failure", {"exit_code": 1})
    assert answer.structured_content["explanation"]


def test_a_client_that_goes_away_leaves_no_process(served, hanging):
    with served(over_stdio) as session:
        call = session.portal.start_task_soon(session.client.call_tool, "execute_tests", {})
        pids = wait_for_pids(hanging)
        call.cancel()
    wait_until_none_runs(pids)


def test_progress_is_told_while_tests_run_and_once_at_the_end(tmp_path, plain_python):
    (tmp_path / "test_waiting.py").write_text(WAITING)
    told = []

    async def note(done, total, message):
        told.append((done, total, message))
        (tmp_path / "told").touch()

    with over_stdio(command_for(tmp_path, "--python", str(plain_python))) as session:
        session.call("execute_tests", {}, progress_callback=note)
    done = [row[0] for row in told]
    assert done == sorted(set(done))
    assert len(told) > 1
    assert told[-1] == (30, 30, "30 of 30 tests")
    assert all(total == 30 for _, total, _ in told)


def test_work_that_is_interrupted_by_itself_is_no_answer():
    def work(_watch):
        raise RunCancelled

    with pytest.raises(CallCancelledError):
        anyio.run(lambda: run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=None))


def test_progress_that_does_not_increase_is_not_told():
    told = []

    async def tell(progress):
        told.append(progress.done)

    def work(watch):
        for done in (3, 2, 3):
            watch.progress(RunProgress(done=done, collected=3))
        return {}

    anyio.run(lambda: run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=tell))
    assert told == [3]


def test_work_that_is_cancelled_is_told_so_and_waited_for():
    ended = []

    async def cancel_at_work():
        def work(watch):
            anyio.from_thread.run_sync(scope.cancel)
            ended.append(watch.cancel.wait(HANG_SECONDS))
            raise RunCancelled

        with anyio.CancelScope() as scope:
            await run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=None)
        return scope.cancelled_caught

    assert anyio.run(cancel_at_work)
    assert ended == [True]
