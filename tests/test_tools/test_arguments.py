import jsonschema
import pytest
from pydantic import Field

from agentbench.test_tools.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    InvalidArgumentsError,
    ToolArguments,
    escaped_name,
    input_schema,
    read_arguments,
)


def faults_of(model, given):
    with pytest.raises(InvalidArgumentsError) as caught:
        read_arguments(model, given)
    return caught.value.faults


def test_all_faults_are_reported_at_once():
    faults = faults_of(
        ExecuteArguments, {"timeout_s": 0, "detail": "more", "bogus": 1, "keyword": 3}
    )
    assert [fault.partition(":")[0] for fault in faults] == [
        "keyword",
        "timeout_s",
        "detail",
        "bogus",
    ]


def test_an_unknown_argument_near_a_known_one_says_which():
    (fault,) = faults_of(ExecuteArguments, {"path": ["tests"]})
    assert fault == "path: no such argument; did you mean paths?"


def test_thousands_of_faults_are_counted():
    faults = faults_of(DiscoverArguments, {f"name{number}": 1 for number in range(1000)})
    assert len(faults) == 21
    assert faults[-1] == "and 980 more faults"


def test_missing_and_null_arguments_are_defaults():
    assert read_arguments(ExecuteArguments, None) == ExecuteArguments()
    null = dict.fromkeys(ExecuteArguments.model_fields)
    assert read_arguments(ExecuteArguments, null) == ExecuteArguments()
    assert faults_of(ExecuteArguments, {"bogus": None}) == (
        "bogus: Extra inputs are not permitted",
    )


@pytest.mark.parametrize(("given", "seconds"), [(2, 2), (2.0, 2), (3600, 3600)])
def test_whole_seconds_may_be_written_either_way(given, seconds):
    assert read_arguments(ExecuteArguments, {"timeout_s": given}).timeout_s == seconds


@pytest.mark.parametrize("given", [2.5, True, "2", 3601, float("inf"), 10**400])
def test_other_deadlines_are_refused(given):
    (fault,) = faults_of(ExecuteArguments, {"timeout_s": given})
    assert fault.startswith("timeout_s: ")


@pytest.mark.parametrize("text", ["-p evil", "--", "@file"])
def test_options_in_arguments_are_refused(text):
    for name in ("paths", "node_ids"):
        assert faults_of(ExecuteArguments, {name: ["ok", text]})[0].startswith(f"{name}[1]: starts")
    for name in ("keyword", "markers"):
        assert faults_of(DiscoverArguments, {name: text})[0].startswith(f"{name}: starts")


@pytest.mark.parametrize("character", ["\0", "\n", "\x1b", "\u202e", "\u200b", "\ue000", "\u2028"])
def test_invisible_characters_are_refused_and_not_repeated(character):
    (fault,) = faults_of(ExecuteArguments, {"paths": [f"a{character}b"]})
    assert fault == "paths[0]: has a control, format or other invisible character"


def test_unknown_names_are_escaped_and_shortened():
    assert escaped_name("\x1b[31m\u202e") == r"'\x1b[31m\u202e'"
    (fault,) = faults_of(ExecuteArguments, {"x" * 10_000: 1})
    assert len(fault) < 120


def test_paths_and_node_ids_exclude_each_other():
    assert faults_of(ExecuteArguments, {"paths": ["a"], "node_ids": ["a::b"]}) == (
        "give paths or node_ids, not both",
    )


class _Own(ToolArguments):
    """Not for models."""

    number: int | None = Field(default=None, description="a number", ge=1)
    word: str


def test_an_optional_argument_has_one_type_and_no_default():
    assert input_schema(_Own)["properties"] == {
        "number": {"type": "integer", "minimum": 1, "description": "a number"},
        "word": {"type": "string"},
    }


def test_schema_has_required_arguments_and_no_class_docstring():
    schema = input_schema(_Own)
    assert schema["required"] == ["word"]
    assert schema["additionalProperties"] is False
    assert not {"title", "description"} & set(schema)


def test_the_arguments_of_a_run_make_a_schema():
    jsonschema.Draft202012Validator.check_schema(input_schema(ExecuteArguments))
