"""The arguments of tools: strictly checked, with all faults reported at once."""

import difflib
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeVar

import pydantic
from pydantic import json_schema
from pydantic_core import ErrorDetails, core_schema

from agentbench.core.schema import JsonObject, Schema

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # Unicode's categories
_MAX_FAULTS = 20
_MAX_NAME_LENGTH = 60  # characters of an unknown name

ArgumentsT = TypeVar("ArgumentsT", bound="ToolArguments")
_PATTERN_IN_SCHEMA = {"pattern": "^[^@-]"}  # for the schema; the check gives a reason


class InvalidArgumentsError(Exception):
    """The arguments are invalid; holds all faults, which do not repeat the arguments' text."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class PathOutsideRootError(Exception):
    """A path leads out of the project; names the argument, not the target."""


class ToolArguments(pydantic.BaseModel):
    """The base class, which refuses unknown names and wrong types."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class NamedTool(StrEnum):
    """The base of tables of tools: name, arguments, answer and purpose of each tool."""

    arguments: type[ToolArguments]
    answer: type[Schema]
    description: str

    def __new__(
        cls, name: str, arguments: type[ToolArguments], answer: type[Schema], description: str
    ) -> Self:
        tool = str.__new__(cls, name)
        tool._value_ = name
        tool.arguments, tool.answer, tool.description = arguments, answer, description
        return tool


def _check_no_option(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    if text[:1] in ("-", "@"):
        raise ValueError("starts with '-' or '@', which pytest would take for an option or a file")
    if any(unicodedata.category(character) in _INVISIBLE for character in text):
        raise ValueError("has a control, format or other invisible character")
    return text


# JSON has one kind of number, and some clients write 1.0.
_Integer = pydantic.BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
Seconds = Annotated[int, _Integer]
_NoOption = Annotated[
    str,
    pydantic.Field(json_schema_extra=_PATTERN_IN_SCHEMA),
    pydantic.AfterValidator(_check_no_option),
]
Target = Annotated[_NoOption, pydantic.Field(max_length=4096)]
Expression = Annotated[_NoOption, pydantic.Field(max_length=1000)]

Paths = Annotated[
    list[Target] | None,
    pydantic.Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Test files or folders, relative to the project's root. Default: what the "
        "project configures.",
        examples=[["tests/test_orders.py"]],
    ),
]
Keyword = Annotated[
    Expression | None,
    pydantic.Field(
        default=None,
        description="Only tests whose names fit this expression, as pytest's -k takes it.",
        examples=["parse and not slow"],
    ),
]
Markers = Annotated[
    Expression | None,
    pydantic.Field(
        default=None,
        description="With pytest, only tests whose markers fit this expression of its -m.",
        examples=["not integration"],
    ),
]


class ExecuteArguments(ToolArguments):
    """The arguments of `execute_tests`."""

    paths: Paths
    node_ids: list[Target] | None = pydantic.Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Single tests, by their ids. Not together with paths.",
        examples=[["tests/test_orders.py::test_total"]],
    )
    keyword: Keyword
    markers: Markers
    max_failures: int | None = pydantic.Field(
        default=None,
        ge=1,
        le=10_000,
        description="Stop after this number of failures. Default: run all.",
        examples=[1],
    )
    timeout_s: Seconds = pydantic.Field(
        default=300,
        ge=1,
        le=3600,
        description="Time limit of the run in seconds; the results so far are reported.",
        examples=[60],
    )
    last_failed: bool = pydantic.Field(
        default=False,
        description="Only the tests that failed in the last run, or all tests if none failed.",
        examples=[False],
    )
    detail: Literal["compact", "full"] = pydantic.Field(
        default="compact",
        description="compact: at most 64 KiB, failing tests first. full: everything.",
        examples=["compact"],
    )

    @pydantic.model_validator(mode="after")
    def _one_selection(self) -> Self:
        if self.paths is not None and self.node_ids is not None:
            raise ValueError("give paths or node_ids, not both")
        return self


class DiscoverArguments(ToolArguments):
    """The arguments of `discover_tests`."""

    paths: Paths
    keyword: Keyword
    markers: Markers


def read_arguments(model: type[ArgumentsT], arguments: Mapping[str, object] | None) -> ArgumentsT:
    """Parse a call's arguments; null counts as a missing argument.

    Raises:
        InvalidArgumentsError: they are invalid; names all faults.
    """
    fields, items = model.model_fields, (arguments or {}).items()
    values = {name: value for name, value in items if value is not None or name not in fields}
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        texts = [
            f"{_location(fault['loc'])}{_message(fault, model)}" for fault in faults[:_MAX_FAULTS]
        ]
        if len(faults) > _MAX_FAULTS:
            texts.append(f"and {len(faults) - _MAX_FAULTS} more faults")
        raise InvalidArgumentsError(texts) from None


def _message(fault: ErrorDetails, model: type[ToolArguments]) -> str:
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(fault["loc"][-1]), model.model_fields, n=1)
        if near:
            return f"no such argument; did you mean {near[0]}?"
    return fault["msg"].removeprefix("Value error, ")


def escaped_name(name: str) -> str:
    """An unknown name, escaped and shortened."""
    escaped = ascii(name[:_MAX_NAME_LENGTH])
    return escaped if len(name) <= _MAX_NAME_LENGTH else f"{escaped}..."


def _location(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            # An unknown name is the caller's text, which may be long or contain anything.
            plain = part.isascii() and part.isidentifier() and len(part) <= _MAX_NAME_LENGTH
            text += part if plain else escaped_name(part)
    return f"{text}: " if text else ""


def input_schema(arguments: type[ToolArguments]) -> JsonObject:
    """The short JSON Schema of arguments, without null, which is a missing argument."""
    schema = arguments.model_json_schema(schema_generator=_ShortSchema)
    del schema["title"]
    schema.pop("description", None)
    return schema


class _ShortSchema(json_schema.GenerateJsonSchema):
    def field_title_should_be_set(self, _schema: object) -> bool:
        # A title would only repeat the name to the model.
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> json_schema.JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> json_schema.JsonSchemaValue:
        short = super().default_schema(schema)
        if "default" in short and short["default"] is None:
            del short["default"]
        return short
