import jsonschema
from pydantic import Field

from agentbench.test_tools.arguments import (
    ExecuteArguments,
    ToolArguments,
    input_schema,
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


def test_what_is_required_is_said_and_the_class_speaks_to_its_reader_alone():
    schema = input_schema(_Own)
    assert schema["required"] == ["word"]
    assert schema["additionalProperties"] is False
    assert not {"title", "description"} & set(schema)


def test_the_arguments_of_a_run_make_a_schema():
    jsonschema.Draft202012Validator.check_schema(input_schema(ExecuteArguments))
