"""What the tools take: closed, bounded and strict, every fault told at once."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # Unicode's categories
_FAULTS_TOLD = 20
_NAME_TOLD = 60  # characters of a name that the caller made up

ArgumentsT = TypeVar("ArgumentsT", bound="Arguments")


class InvalidArgumentsError(Exception):
    """The caller's arguments are wrong; holds every fault, none of which repeats their text."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class PathOutsideRootError(Exception):
    """A path leads out of the project; says which argument it was, not where it leads."""


class Arguments(BaseModel):
    """The base of all: unknown names and values of another type are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _visible(text: str) -> str:
    if any(unicodedata.category(character) in _INVISIBLE for character in text):
        raise ValueError("has a control, format or other invisible character")
    return text


def _no_option(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    if text[:1] in ("-", "@"):
        raise ValueError("starts with '-' or '@', which pytest would take for an option or a file")
    return _visible(text)


_TOLD = {"pattern": "^[^@-]"}  # in the schema; the check itself gives a reason


def _whole(value: object) -> object:
    """A number that JSON holds for whole, however it was written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Seconds = Annotated[int, BeforeValidator(_whole)]
Target = Annotated[str, Field(max_length=4096, json_schema_extra=_TOLD), AfterValidator(_no_option)]
Expression = Annotated[
    str, Field(max_length=1000, json_schema_extra=_TOLD), AfterValidator(_no_option)
]

Paths = Annotated[
    list[Target] | None,
    Field(
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
    Field(
        default=None,
        description="Only tests whose names fit this expression, as pytest's -k takes it.",
        examples=["parse and not slow"],
    ),
]
Markers = Annotated[
    Expression | None,
    Field(
        default=None,
        description="Only tests whose markers fit this expression, as pytest's -m takes it.",
        examples=["not integration"],
    ),
]


class ExecuteArguments(Arguments):
    """What `execute_tests` takes."""

    paths: Paths
    node_ids: list[Target] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Single tests, by their ids. Not together with paths.",
        examples=[["tests/test_orders.py::test_total"]],
    )
    keyword: Keyword
    markers: Markers
    max_failures: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="Stop after so many failures. Default: run all.",
        examples=[1],
    )
    timeout_s: Seconds = Field(
        default=300,
        ge=1,
        le=3600,
        description="Seconds the run may take; what was done by then is reported.",
        examples=[60],
    )
    last_failed: bool = Field(
        default=False,
        description="Only the tests that failed in the last run, or all if none did.",
        examples=[False],
    )
    detail: Literal["compact", "full"] = Field(
        default="compact",
        description="compact: at most 64 KiB, failing tests first. full: everything.",
        examples=["compact"],
    )

    @model_validator(mode="after")
    def _one_selection(self) -> Self:
        if self.paths is not None and self.node_ids is not None:
            raise ValueError("give paths or node_ids, not both")
        return self


class DiscoverArguments(Arguments):
    """What `discover_tests` takes."""

    paths: Paths
    keyword: Keyword
    markers: Markers


def read_arguments(model: type[ArgumentsT], given: Mapping[str, object] | None) -> ArgumentsT:
    """The arguments of a call; null stands for one that is not given, as many clients have it.

    Raises:
        InvalidArgumentsError: they are wrong; says all that is.
    """
    told = {
        name: value
        for name, value in (given or {}).items()
        if value is not None or name not in model.model_fields
    }
    try:
        return model.model_validate(told)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        faults_told = [
            f"{_place(fault['loc'])}{_words(fault['msg'])}" for fault in faults[:_FAULTS_TOLD]
        ]
        if len(faults) > _FAULTS_TOLD:
            faults_told.append(f"and {len(faults) - _FAULTS_TOLD} more faults")
        raise InvalidArgumentsError(faults_told) from None


def harmless_name(name: str) -> str:
    """A name that the caller made up, escaped and cut."""
    shown = ascii(name[:_NAME_TOLD])
    return shown if len(name) <= _NAME_TOLD else f"{shown}..."


def _place(loc: tuple[int | str, ...]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else _name(part) for part in loc)
    return f"{place}: " if place else ""


def _name(part: str) -> str:
    plain = part.isascii() and part.isidentifier() and len(part) <= _NAME_TOLD
    return part if plain else harmless_name(part)


def _words(message: str) -> str:
    return message.removeprefix("Value error, ")
