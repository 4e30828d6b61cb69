"""Recorded values as values of Python, and objects as values of built-in types."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from agentbench.integrity.sealing.canonical import CanonicalValue, Group, Instance, Leaf
from agentbench.integrity.sealing.expected_trees import Container, ExpectedTree, Known

SEQUENCES = ("list", "tuple", "deque", "pair", "values")
SETS = ("set", "frozenset", "keys")
MAPPINGS = ("dict", "ordered")
_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError)


class NotPlainError(ValueError):
    """A value is not of built-in types only."""


def like(instance: Instance, other: CanonicalValue | Container) -> CanonicalValue | None:
    """An object as a value of another's built-in type, by its base or its methods' results."""
    if instance.base is not None:
        return instance.base
    names: tuple[str, ...] = ()
    match other:
        case Leaf(kind="int" | "bool"):
            names = ("index", "int")
        case Leaf(kind="float" | "complex") | Group(kind="decimal" | "fraction"):
            names = ("float",)
        case Leaf(kind="str"):
            names = ("str",)
        case Leaf(kind="bytes" | "bytearray"):
            names = ("bytes",)
        case Group(kind=kind) | Container(kind=kind) if kind in MAPPINGS:
            names = ("dict",)
        case Group(kind=kind) | Container(kind=kind) if kind in (*SEQUENCES, *SETS):
            names = ("list",)
        case _:
            pass
    found = next((said for said in map(instance.disclosed, names) if said is not None), None)
    if isinstance(found, Group) and isinstance(other, Group | Container) and found.kind == "list":
        return Group(other.kind, found.items, found.rest)  # a sequence of its own type
    wrapped = instance.disclosed("wrapped") or dict(instance.private).get("_wrapped")
    state = (*instance.public, *instance.private)
    only = state[0][1] if len(state) == 1 else None  # with more attributes, one might fit by chance
    return found or wrapped or only


def to_python(value: ExpectedTree | CanonicalValue) -> object:
    """A value of built-in types as a Python value; containers are immutable and have hashes."""
    match value:
        case Known(value=known):
            return to_python(known)
        case Leaf(kind=kind, value=single) if kind != "back":
            return single
        case Instance(kind=kind, base=base) if base is not None:
            return to_python(base)
        case Group(kind=kind, items=items, rest=None) if kind in _PYTHON:
            try:
                return _PYTHON[kind](*map(to_python, items))
            except _ERRORS as error:
                raise NotPlainError(str(error)) from error
        case _:
            raise NotPlainError


class _List(tuple[object, ...]):
    """A list with a hash; it is never equal to a tuple."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _List) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def _moment(kind: Callable[..., object], count: int) -> Callable[..., object]:
    def build(*parts: object) -> object:
        offset = parts[count]
        zone = timezone(offset) if isinstance(offset, timedelta) else None
        return kind(*parts[:count], tzinfo=zone)

    return build


_PYTHON: Mapping[str, Callable[..., object]] = {
    "list": lambda *items: _List(items),
    "tuple": lambda *items: items,
    "pair": lambda *items: items,
    "set": lambda *items: frozenset(items),
    "frozenset": lambda *items: frozenset(items),
    "keys": lambda *items: frozenset(items),
    "range": range,
    "date": date,
    "time": _moment(time, 4),
    "datetime": _moment(datetime, 7),
    "timedelta": timedelta,
    "decimal": Decimal,
    "fraction": Fraction,
    "uuid": lambda number: UUID(int=number),
}
