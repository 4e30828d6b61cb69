"""What was done to a file of tests, as it is kept in records."""

from typing import TYPE_CHECKING

from pydantic import Field

from agentbench.schema import Schema
from agentbench.stages.verification.mutation.value_kind import ValueKind

if TYPE_CHECKING:  # the engine: reading a record needs none
    from agentbench.stages.verification.mutation.expected import ExpectedValue, Replacement

_LONGEST = 200


class ChangedValue(Schema):
    """One expected value that was changed."""

    function: str
    """As in a node id, without the file: `TestX::test_y`."""
    line: int
    kind: ValueKind
    original: str
    replacement: str
    doubt: int = 0
    """0: it surely makes the test fail. From 3 on it may not: try it with code that is right."""
    row: int | None = None
    """Which set of parameters it belongs to, counted from 0, if it belongs to one."""


class WeaklyControlled(Schema):
    """A test function in which no expected value could be changed."""

    function: str
    reason: str
    fails: bool
    """Whether an assertion at its end makes it fail; `False` where none could be added."""


class KnownValue(Schema):
    """An expected value that can be changed."""

    line: int
    kind: ValueKind
    original: str
    doubt: int
    row: int | None = None


class ControlledFunction(Schema):
    """What can be changed in one test function."""

    function: str
    values: tuple[KnownValue, ...]
    reason: str | None = None
    """Why nothing can be, where `values` is empty."""


class Mutation(Schema):
    """A file of tests, disguised, in which some functions expect something else."""

    path: str
    source: str
    changed: tuple[ChangedValue, ...] = ()
    weakly_controlled: tuple[WeaklyControlled, ...] = ()
    renamed: dict[str, str] = Field(default_factory=dict)
    """Node ids of listed tests that have another one in this file, with the new one."""
    visible_ids: tuple[str, ...] = ()
    """Functions of listed tests whose ids are still those that pytest makes of the values."""


def describe_value(value: "ExpectedValue") -> KnownValue:
    """An expected value as it is kept in records."""
    return KnownValue(
        line=value.line,
        kind=value.kind,
        original=shorten(value.original),
        doubt=value.doubt,
        row=value.row.index if value.row is not None else None,
    )


def describe_change(function: str, value: "ExpectedValue", new: "Replacement") -> ChangedValue:
    """A change as it is kept in records."""
    return ChangedValue(
        function=function,
        line=value.line,
        kind=value.kind,
        original=shorten(value.original),
        replacement=shorten(new.shown),
        doubt=value.doubt,
        row=value.row.index if value.row is not None else None,
    )


def shorten(text: str) -> str:
    """The beginning of a text, without what could disturb a terminal or no file could hold."""
    plain = text if text.isprintable() else ascii(text)[1:-1]
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
