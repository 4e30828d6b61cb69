import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbench.extensions.llm.tools import EFFECT_OF_TOOL, tool_specs, use_tool
from agentbench.models.conversation import ModelToolCall, ToolReply
from tests.extensions.llm.conftest import called, desk_of

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
HARMLESS = sorted(set(EFFECT_OF_TOOL) - {"run", "run_tests", "discover_tests"})


@pytest.mark.parametrize("spec", tool_specs(), ids=lambda spec: spec.name)
def test_every_tool_has_a_schema_that_is_closed_and_tells_what_each_argument_is(spec):
    jsonschema.Draft202012Validator.check_schema(spec.schema)
    assert spec.schema["additionalProperties"] is False
    assert spec.description
    for name, field in spec.schema["properties"].items():
        assert field["type"] in ("string", "integer", "boolean", "array") or "enum" in field
        assert field.get("description") or name == "ignore_case"


def test_the_tools_take_little_of_a_models_attention():
    assert len(json.dumps([(spec.description, spec.schema) for spec in tool_specs()])) < 8_000


def test_a_submission_is_an_answer_like_any_other(sandbox):
    assert called(sandbox, "submit") == ToolReply(text="submitted")
    assert called(sandbox, "submit", summary=None) == ToolReply(text="submitted")


def test_null_stands_for_an_argument_that_is_not_given(sandbox):
    assert not called(sandbox, "list_files", path=None, depth=None).failed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.sampled_from([*HARMLESS, "", "fly"]), st.dictionaries(st.text(), JSON) | JSON)
def test_whatever_a_model_calls_is_answered(sandbox, name, given):
    call = ModelToolCall(id="1", name=name, arguments=json.dumps(given))
    reply = use_tool(desk_of(sandbox), call)
    assert reply.text
    reply.text.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_a_name_or_arguments_that_are_none_are_answered_in_plain_text(sandbox, name, arguments):
    reply = use_tool(desk_of(sandbox), ModelToolCall(id="1", name=f"{name}?", arguments="{"))
    assert reply.failed
    assert reply.text.isascii()
    reply = use_tool(
        desk_of(sandbox), ModelToolCall(id="1", name="read_file", arguments=f"{arguments}!")
    )
    assert reply.failed
    reply.text.encode()


@pytest.mark.parametrize("arguments", ["[" * 100_000, "9" * 10_000, "NaN", '{"path": NaN}', "\0"])
def test_json_that_breaks_readers_breaks_nothing(sandbox, arguments):
    reply = use_tool(desk_of(sandbox), ModelToolCall(id="1", name="read_file", arguments=arguments))
    assert reply.failed
    assert len(reply.text) < 1_000
