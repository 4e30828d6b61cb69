"""Which tools there are, and what is answered where one cannot work."""

from threading import Event

import jsonschema
import pytest

from agentbench.core.extras import install_command
from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.symbolic_tools import (
    MAX_CODE_BYTES,
    CheckArguments,
    FindPathArguments,
    HealthArguments,
    SymbolicTool,
    error_answer,
    offered_tools,
)
from agentbench.mcp.server import describe_tool
from agentbench.test_tools.arguments import InvalidArgumentsError, read_arguments
from tests.extensions.symbolic.symbolic_bench import symbolic, without_sandbox
from tests.mcp.catalogue import check_arguments, check_length, check_schemas

SEARCHES = tuple(tool for tool in SymbolicTool if tool is not SymbolicTool.HEALTH)


def arguments_for(tool):
    examples = {
        name: field["examples"][0]
        for name, field in describe_tool(tool, isolated=True).input_schema["properties"].items()
    }
    return read_arguments(tool.arguments, examples)


def test_missing_extra_leaves_only_the_health_tool():
    assert offered_tools(installed=False) == (SymbolicTool.HEALTH,)
    assert offered_tools(installed=True) == tuple(SymbolicTool)


@pytest.mark.parametrize("tool", SEARCHES)
def test_call_without_the_extra_names_what_to_install(tool, tmp_path):
    bare = without_sandbox(tmp_path, installed=False)
    answer = bare.call(tool, arguments_for(tool), Event())
    assert (answer["status"], answer["error_type"]) == ("error", "ImportError")
    assert answer["message"] == f"{tool} is not installed: {install_command('symbolic')}"


@pytest.mark.parametrize("tool", SEARCHES)
def test_missing_sandbox_runs_nothing_and_says_why(tool, tmp_path):
    answer = without_sandbox(tmp_path).call(tool, arguments_for(tool), Event())
    assert (answer["status"], answer["error_type"]) == ("error", "RuntimeError")
    assert answer["message"] == (
        "no sandbox for the analysis: no sandbox works here: bwrap at <host> says no"
    )


@pytest.mark.parametrize("tool", SEARCHES)
def test_refusal_has_every_field_of_the_tool(tool):
    answer = error_answer(tool, SymbolicErrorType.VALUE, "no")
    assert set(answer) == set(tool.answer.model_fields)
    jsonschema.validate(answer, describe_tool(tool, isolated=True).output_schema)
    assert (answer["status"], answer["time_seconds"]) == ("error", 0.0)


def test_health_names_what_is_missing(tmp_path):
    health = HealthArguments().run(without_sandbox(tmp_path, installed=False), Event())
    assert health.status == "healthy"
    assert health.sandbox is None
    assert health.missing == ("a sandbox (no sandbox works here: bwrap at <host> says no)",)
    assert (health.version, health.tools) == ("1.2.3", ("health_check",))


def test_health_names_installed_versions(analysis_sandboxes):
    health = HealthArguments().run(symbolic(analysis_sandboxes), Event())
    assert (health.message, health.sandbox) == ("nothing is missing", "bubblewrap")
    for version in (health.crosshair_version, health.hypothesis_version, health.z3_version):
        assert version[0].isdigit()


FINE = {"code": "def f(): pass\n", "function_name": "f"}


def refused(**changed):
    with pytest.raises(InvalidArgumentsError) as refusal:
        read_arguments(CheckArguments, {**FINE, **changed})
    return str(refusal.value)


@pytest.mark.parametrize("name", ["f", "Parser.parse", "_f1", "größe"])
def test_python_versions_are_accepted_with_and_without_dot(name):
    assert read_arguments(CheckArguments, {**FINE, "function_name": name}).function_name == name


@pytest.mark.parametrize("name", ["", "1f", "f()", "a..b", ".f", "f.", "a b", "f\n", "f\0", "-f"])
def test_other_python_versions_are_refused(name):
    assert refused(function_name=name) == (
        "function_name: is not a Python name, such as parse or Parser.parse"
    )


@pytest.mark.parametrize(
    "seconds", [0, -1, 601, float("inf"), float("nan"), "5", True, None.__class__]
)
def test_timeout_has_bounds(seconds):
    assert refused(timeout_seconds=seconds).startswith("timeout_seconds: Input should be")


def test_code_is_encodable_text_of_limited_length():
    assert refused(code="x" * (MAX_CODE_BYTES + 1)).startswith("code: is 1000001 bytes long")
    assert refused(code="é" * MAX_CODE_BYTES).startswith("code: is 2000000 bytes long")
    assert refused(code="x = '\ud800'").startswith("code: contains half of a surrogate pair")
    assert (
        len(read_arguments(CheckArguments, {**FINE, "code": "x" * MAX_CODE_BYTES}).code)
        == MAX_CODE_BYTES
    )


def test_all_argument_errors_are_reported_at_once():
    with pytest.raises(InvalidArgumentsError) as refusal:
        read_arguments(FindPathArguments, {"code": 1, "exception_type": "a b", "bogus": 2})
    names = [fault.partition(":")[0] for fault in refusal.value.faults]
    assert names == ["code", "function_name", "exception_type", "bogus"]


@pytest.mark.parametrize("tool", SymbolicTool)
def test_tools_have_closed_schemas_examples_and_short_definitions(tool):
    described = describe_tool(tool, isolated=False)
    check_schemas(described)
    check_arguments(described, tool.arguments)
    check_length(described)


def test_tools_are_annotated_read_only_and_closed_world():
    for tool in SymbolicTool:
        annotations = describe_tool(tool, isolated=False).annotations
        assert annotations.read_only_hint
        assert not annotations.open_world_hint
