"""Which tools there are, and what is answered where one cannot work."""

from threading import Event

import jsonschema
import pytest

from agentbench.core.extras import install_command
from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.symbolic_tools import (
    HealthArguments,
    SymbolicTool,
    error_answer,
    offered_tools,
)
from agentbench.mcp.server import describe_tool
from agentbench.test_tools.arguments import read_arguments
from tests.extensions.symbolic.symbolic_bench import symbolic, without_sandbox

SEARCHES = tuple(tool for tool in SymbolicTool if tool is not SymbolicTool.HEALTH)


def arguments_for(tool):
    examples = {
        name: field["examples"][0]
        for name, field in describe_tool(tool, isolated=True).input_schema["properties"].items()
    }
    return read_arguments(tool.arguments, examples)


def test_without_the_extra_only_the_tool_that_names_its_lack_is_offered():
    assert offered_tools(installed=False) == (SymbolicTool.HEALTH,)
    assert offered_tools(installed=True) == tuple(SymbolicTool)


@pytest.mark.parametrize("tool", SEARCHES)
def test_without_the_extra_a_call_is_told_what_to_install(tool, tmp_path):
    bare = without_sandbox(tmp_path, installed=False)
    answer = bare.call(tool, arguments_for(tool), Event())
    assert (answer["status"], answer["error_type"]) == ("error", "ImportError")
    assert answer["message"] == f"{tool} is not installed: {install_command('symbolic')}"


@pytest.mark.parametrize("tool", SEARCHES)
def test_where_no_sandbox_works_nothing_is_run_and_the_answer_says_why(tool, tmp_path):
    answer = without_sandbox(tmp_path).call(tool, arguments_for(tool), Event())
    assert (answer["status"], answer["error_type"]) == ("error", "RuntimeError")
    assert answer["message"] == (
        "no sandbox for the analysis: no sandbox works here: bwrap at <host> says no"
    )


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_refusal_has_every_field_of_the_tools_own(tool):
    answer = error_answer(tool, SymbolicErrorType.VALUE, "no")
    assert set(answer) == set(tool.answer.model_fields)
    jsonschema.validate(answer, describe_tool(tool, isolated=True).output_schema)
    assert (answer["status"], answer["time_seconds"]) == ("error", 0.0)


def test_what_is_missing_is_named_and_the_server_is_healthy_all_the_same(tmp_path):
    told = HealthArguments().run(without_sandbox(tmp_path, installed=False), Event())
    assert told.status == "healthy"
    assert told.sandbox is None
    assert told.missing == ("a sandbox (no sandbox works here: bwrap at <host> says no)",)
    assert (told.version, told.tools) == ("1.2.3", ("health_check",))


def test_versions_are_those_that_are_installed(analysis_sandboxes):
    told = HealthArguments().run(symbolic(analysis_sandboxes), Event())
    assert (told.message, told.sandbox) == ("nothing is missing", "bubblewrap")
    for version in (told.crosshair_version, told.hypothesis_version, told.z3_version):
        assert version[0].isdigit()
