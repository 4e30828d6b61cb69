"""Calls of the symbolic tools on the event loop: none goes unanswered, none outlives its caller."""

import logging
from contextlib import contextmanager

import anyio
import anyio.from_thread
import pytest

from agentbench.errors import RunCancelled, UsageError
from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.mcp_tools import SymbolicToolSet, code_runner_for
from agentbench.extensions.symbolic.sandbox import AnalysisSandboxes
from agentbench.extensions.symbolic.symbolic_tools import SymbolicTool, error_answer
from tests.extensions.symbolic.symbolic_bench import symbolic, without_sandbox

HANGING = {
    "code": "while True:\n    pass\n",
    "function_name": "f",
    "timeout_seconds": 300,
}


def answer(calls, tool, arguments):
    return anyio.run(calls.answer, tool, arguments)


def test_wrong_arguments_are_answered_in_the_form_of_the_tool(tmp_path):
    calls = SymbolicToolSet(without_sandbox(tmp_path))
    content = answer(calls, SymbolicTool.COMPARE, {"code": 1})
    assert (content["status"], content["error_type"]) == ("error", "ValueError")
    assert content["distinguishing_input"] is None


def test_health_ignores_extra_arguments(tmp_path):
    calls = SymbolicToolSet(without_sandbox(tmp_path))
    assert answer(calls, SymbolicTool.HEALTH, {"bogus": 1})["status"] == "healthy"


def test_internal_error_is_named_without_its_traceback(tmp_path, caplog):
    def broken():
        raise ZeroDivisionError("a bug at /etc/passwd")

    calls = SymbolicToolSet(symbolic(AnalysisSandboxes(broken, tmp_path)))
    with caplog.at_level(logging.ERROR):
        content = answer(calls, SymbolicTool.CHECK, {**HANGING, "timeout_seconds": 1})
    assert (content["status"], content["error_type"]) == ("error", "RuntimeError")
    incident = content["message"].removeprefix("Internal server error (incident ").rstrip(")")
    assert incident in caplog.text
    assert "passwd" not in content["message"]


class CallingOff:
    """Cancels a scope once its sandbox is open, and notes what happens."""

    def __init__(self, inner, scope):
        self._inner = inner
        self._scope = scope
        self.called_off = False

    @contextmanager
    def opened(self, code, *, cancel):
        with self._inner.opened(code, cancel=cancel) as opened:
            anyio.from_thread.run_sync(self._scope.cancel)
            try:
                yield opened
            except RunCancelled:
                self.called_off = True
                raise


def test_cancelled_call_ends_at_once(analysis_sandboxes):
    async def call_off():
        with anyio.CancelScope() as scope:
            watched = CallingOff(analysis_sandboxes, scope)
            calls = SymbolicToolSet(symbolic(watched))
            await calls.answer(SymbolicTool.CHECK, HANGING)
        return scope.cancelled_caught, watched.called_off

    assert anyio.run(call_off) == (True, True)


@pytest.mark.parametrize(
    ("kind", "code"), [(SymbolicErrorType.SYNTAX, -32602), (SymbolicErrorType.TIMEOUT, -32000)]
)
def test_protocol_error_holds_the_whole_answer(kind, code, tmp_path):
    content = error_answer(SymbolicTool.BRANCHES, kind, "no")
    error = SymbolicToolSet(without_sandbox(tmp_path)).protocol_error(content)
    assert (error.code, error.message, error.data) == (code, "no", content)


def test_server_without_the_extra_offers_no_analysis_instructions(tmp_path):
    without = SymbolicToolSet(without_sandbox(tmp_path, installed=False))
    assert (without.offered, without.instructions) == ((SymbolicTool.HEALTH,), "")
    assert "symbolic_check" in SymbolicToolSet(without_sandbox(tmp_path)).instructions


def test_default_engine_is_a_real_sandbox():
    assert code_runner_for("auto").provider().name in ("bubblewrap", "docker")


def test_plain_processes_must_be_named():
    assert code_runner_for("process").provider().name == "process"


def test_unknown_engine_is_refused():
    with pytest.raises(UsageError, match="unknown sandbox 'podmen'"):
        code_runner_for("podmen").provider()
