"""The agent's tools on tests and those of the MCP server: one call, one answer."""

import json
import re
from pathlib import Path
from threading import Event

import pytest

from agentbench.mcp.pytest_tools import PytestTool, call_pytest_tool, call_result
from agentbench.test_tools.arguments import read_arguments
from agentbench.test_tools.envelope import PytestAnswer
from agentbench.test_tools.project import CallControl
from tests.extensions.llm.conftest import called, desk_of

SUITE = """\
import pytest

def test_pass(): pass
def test_fail(): assert [1, 2] == [1, 3], "ü\\x1b[31m"
@pytest.mark.skip(reason="not now")
def test_skip(): pass
@pytest.mark.parametrize("x", ["a b", "ü"])
def test_param(x): print(x)
"""
CALLS = [
    ("run_tests", {}),
    ("run_tests", {"keyword": "pass", "max_failures": 1}),
    ("run_tests", {"paths": ["tests"], "detail": "full"}),
    ("run_tests", {"node_ids": ["tests/test_s.py::test_fail"]}),
    ("run_tests", {"paths": ["../.."]}),
    ("run_tests", {"paths": ["nowhere"]}),
    ("run_tests", {"keyword": "(("}),
    ("discover_tests", {}),
    ("discover_tests", {"paths": ["tests", "broken"]}),
    ("discover_tests", {"paths": ["/etc"]}),
]
SERVERS = {"run_tests": PytestTool.EXECUTE, "discover_tests": PytestTool.DISCOVER}


@pytest.fixture
def suite(sandbox):
    """A sandbox with tests of every kind."""
    folder = Path(sandbox.workspace)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_s.py").write_text(SUITE)
    (folder / "broken").mkdir()
    (folder / "broken" / "test_b.py").write_text("import nowhere\n")
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    return sandbox


def without_time(value):
    """An answer less what no two runs have in common: times, and names of folders."""
    if isinstance(value, dict):
        return {name: without_time(item) for name, item in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [without_time(item) for item in value]
    return re.sub(r"\d+\.\d\d+s?|[0-9a-f]{32}", "…", value) if isinstance(value, str) else value


TIMES = {"duration", "created"}


@pytest.mark.parametrize(("name", "given"), CALLS, ids=str)
def test_an_answer_equals_that_of_the_server_field_by_field(suite, name, given):
    reply = called(suite, name, **given)
    ours = json.loads(reply.text)

    tool = SERVERS[name]
    arguments = read_arguments(tool.arguments, given)
    theirs = call_pytest_tool(desk_of(suite).project, arguments, CallControl(cancel=Event()))
    sent = json.loads(call_result(theirs).content[0].text)

    assert set(ours) == set(theirs) == set(PytestAnswer.model_fields)
    for field in PytestAnswer.model_fields:
        assert without_time(ours[field]) == without_time(sent[field]), field


def test_failing_tests_are_no_failure_of_the_tool_and_what_cannot_run_is(suite):
    assert not called(suite, "run_tests").failed
    assert not called(suite, "discover_tests", paths=["broken"]).failed
    assert called(suite, "run_tests", paths=["../.."]).failed
    assert called(suite, "run_tests", paths=["nowhere"]).failed
    assert called(suite, "run_tests", bogus=1).text.startswith("invalid arguments: bogus: Extra")


def test_a_link_out_of_the_workspace_is_followed_inside_the_sandbox_and_refused(walled):
    called(walled, "run", command="ln -s /usr link; echo 'def test_a(): pass' > test_a.py")
    for name in ("run_tests", "discover_tests"):
        assert json.loads(called(walled, name, paths=["link"]).text)["outcome"] == (
            "path_outside_root"
        )
    ours = called(walled, "run_tests", paths=["test_a.py"])
    assert json.loads(ours.text)["outcome"] == "passed"


def test_an_answer_is_of_bearable_size_whatever_tests_print(suite):
    noisy = "def test_n():\n    print('x' * 5_000_000)\n    assert 0\n"
    Path(suite.workspace, "tests", "test_n.py").write_text(noisy)
    assert len(called(suite, "run_tests").text) < 40_000
