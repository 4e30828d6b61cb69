"""The outcome of a step of a program, and whether two trees behaved alike."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
import math
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from .foreign_code import is_explicit, message_of, shorten, text_of

if TYPE_CHECKING:
    from typing import Any, TypeGuard

    from .messages import Form, Step

_DEEPEST = 8
_NODES = 3000
_ITEMS = 300
_RELATIVE = 1e-9  # the same sum in another order is no other behaviour
_ABSOLUTE = 1e-12
_CLOSED = ("opaque", "cut")
_MACHINE_LIMITS = ("RecursionError", "MemoryError")  # depend on the machine, not on the code
_MACHINE_ERRORS = ("OSError",)  # an input names files and hosts that do not exist
_TYPE_ERRORS = ("TypeError", "AttributeError")  # the effect of a value of a wrong type


def form_of(value: object) -> Form:
    """The form of a value."""
    return _FormBuilder().form(value, 0)


class _FormBuilder:
    """Walks a value and cuts off its own parts, and parts that are too deep or too many."""

    def __init__(self) -> None:
        self._nodes = 0
        self._within: set[int] = set()

    def form(self, value: object, depth: int) -> Form:
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _NODES or id(value) in self._within:
            return ["cut"]
        plain = _plain_form(value)
        if plain is not None:
            return plain
        self._within.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self._within.discard(id(value))

    def _container(self, value: object, depth: int) -> Form:
        name = type(value).__name__
        if isinstance(value, Mapping):
            pairs = itertools.islice(value.items(), _ITEMS)
            forms = [[self.form(key, depth), self.form(item, depth)] for key, item in pairs]
            return ["map", "mapping", forms]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._fields(value, dict(zip(value._fields, value)), depth)  # noqa: B905 - Python 3.7
        if isinstance(value, BaseException):
            return ["items", name, []]
        if isinstance(value, Set):
            # The order in a set depends on hashes, which differ from run to run.
            return ["set", "set", sorted(self._items(value, depth), key=repr)]
        if isinstance(value, (list, tuple, deque)):
            return ["items", name, self._items(value, depth)]
        if isinstance(value, Iterator):
            return ["items", "iterator", self._items(value, depth)]
        if dataclasses.is_dataclass(value):
            compared = [field for field in dataclasses.fields(value) if field.compare]
            attributes = {field.name: getattr(value, field.name, None) for field in compared}
        else:
            attributes = getattr(value, "__dict__", {})
        public = {name: item for name, item in attributes.items() if not name.startswith("_")}
        if public:
            return self._fields(value, public, depth)
        name = type(value).__name__
        if isinstance(value, Sequence) or _is_collection(value):
            return ["items", name, self._items(value, depth)]
        if type(value).__str__ is not object.__str__ and "__dict__" in dir(value):
            return ["shown", name, text_of(str(value))]
        return ["opaque", name]

    def _fields(self, value: object, fields: Mapping[str, object], depth: int) -> Form:
        forms = {name: self.form(item, depth) for name, item in fields.items()}
        return ["fields", type(value).__name__, forms]

    def _items(self, value: Iterable[object], depth: int) -> list[Form]:
        return [self.form(item, depth) for item in itertools.islice(value, _ITEMS)]


def _is_collection(value: object) -> TypeGuard[Collection[object]]:
    return hasattr(value, "__iter__") and hasattr(value, "__len__") and not isinstance(value, type)


_PLAIN_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Form]], ...] = (
    (enum.Enum, lambda value: ["member", type(value).__name__, value.name]),
    (type(None), lambda _none: ["none"]),
    (int, lambda value: ["number", str(int(value))]),
    ((float, complex, Decimal, Fraction), lambda value: ["number", str(value)]),
    (str, lambda value: ["text", str.__str__(value)]),
    ((bytes, bytearray, memoryview), lambda value: ["bytes", bytes(value).hex()]),
    ((datetime.date, datetime.time), lambda value: [type(value).__name__, value.isoformat()]),
    ((datetime.timedelta, range, slice), lambda value: [type(value).__name__, repr(value)]),
    (type, lambda value: ["class", value.__name__]),
    (types.ModuleType, lambda value: ["opaque", value.__name__]),
)


def _plain_form(value: object) -> Form | None:
    for kinds, form_of_kind in _PLAIN_FORMS:
        if isinstance(value, kinds):
            return form_of_kind(value)
    return ["opaque", type(value).__name__] if callable(value) else None


def is_hidden(form: Form) -> bool:
    """Whether a part of a value cannot be looked into."""
    kind = form[0]
    if kind in _CLOSED:
        return True
    if kind in ("items", "set"):
        return any(map(is_hidden, form[2]))
    if kind == "fields":
        return any(map(is_hidden, form[2].values()))
    return kind == "map" and any(is_hidden(part) for pair in form[2] for part in pair)


def is_visible(form: Form) -> bool:
    """Whether a value shows anything."""
    return form[0] not in ("none", *_CLOSED)


def is_same(left: Form, right: Form) -> bool:
    """Whether two forms show the same. A value that cannot be looked into is the same as any."""
    if left[0] in _CLOSED or right[0] in _CLOSED:
        return True
    kind = left[0]
    if kind != right[0]:
        return False
    if kind == "number":
        return _is_same_number(left[1], right[1])
    if kind in ("items", "set", "map", "fields"):
        return bool(left[1] == right[1]) and _are_same_parts(kind, left[2], right[2])
    return left == right


def _is_same_number(left: str, right: str) -> bool:
    if left == right:
        return True
    try:
        one, other = float(left), float(right)
    except (ValueError, TypeError, OverflowError):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if one.is_integer() and other.is_integer() and "." not in f"{left}{right}":
        return False  # whole numbers are compared exactly
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _are_same_parts(kind: str, left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if kind == "fields":
        return set(left) == set(right) and all(is_same(left[name], right[name]) for name in left)
    if kind == "items":
        return all(map(is_same, left, right))
    if kind == "set":
        left, right = ([[part] for part in side] for side in (left, right))
    # Whether each entry on the left has one of its own on the right with the same parts.
    rest = list(right)
    for entry in left:
        matches = (at for at, other in enumerate(rest) if all(map(is_same, entry, other)))
        position = next(matches, None)
        if position is None:
            return False
        del rest[position]
    return True


RETURNS, RAISES, TIMEOUT = "returns", "raises", "timeout"
ALL, CONTRACT = "all", "contract"


def returned(value: object) -> Step:
    """The step that returned a value."""
    return {"kind": RETURNS, "form": form_of(value), "text": text_of(value)}


def raised(error: BaseException, paths: tuple[str, ...]) -> Step:
    """The step that raised an error, in a project in these folders."""
    kind = type(error)
    bases = [one for one in kind.__mro__ if one not in (Exception, BaseException, object)]
    return {
        "kind": RAISES,
        "type": kind.__name__,
        "mro": [one.__name__ for one in bases],
        "explicit": is_explicit(error, paths),
        "text": f"{kind.__name__}: {message_of(error)}",
    }


def words(step: Step) -> str:
    """For a reader: `returns 1`, `raises ValueError: …`, `prints 'a' and returns None`."""
    if step["kind"] == TIMEOUT:
        return f"does not end within {step['seconds']:g} s"
    printed = ""
    if step.get("stdout"):
        printed += f"prints {shorten(repr(step['stdout']))} and "
    if step.get("stderr"):
        printed += f"complains {shorten(repr(step['stderr']))} and "
    return f"{printed}{step['kind']} {step['text']}"


def says_something(step: Step, *, errors: str, inferred: bool) -> bool:
    """Whether the reference's step shows how the code is meant to behave."""
    if step["kind"] == TIMEOUT:
        return False
    if step["kind"] == RETURNS:
        return True
    if _is_no_evidence(step, inferred=inferred):
        return False
    if _is_one_of(step, _MACHINE_ERRORS) and not step["explicit"]:
        return False
    return errors == ALL or bool(step["explicit"])


def shows_something(step: Step) -> bool:
    """Whether the reference's step has any visible effect besides its end."""
    if step["kind"] == RAISES or step.get("stdout") or step.get("stderr"):
        return True
    return is_visible(step["form"])


def differ(left: Step, right: Step, *, errors: str, inferred: bool) -> bool:
    """Whether the other tree behaved otherwise than the reference, whose step says something."""
    if right["kind"] == TIMEOUT:
        return errors == CONTRACT and left["seconds"] * 100 < right["seconds"]
    if right["kind"] == RAISES:
        if _is_no_evidence(right, inferred=inferred):
            return False
        return left["kind"] == RETURNS or not _are_related(left, right, errors)
    if left["kind"] == RAISES or not is_same(left["form"], right["form"]):
        return True
    if left.get("stdout") != right.get("stdout"):
        return True
    return errors == ALL and left.get("stderr") != right.get("stderr")


def is_reordered(left: Step, right: Step) -> bool:
    """Whether both return the same items in another order."""
    one, other = left.get("form"), right.get("form")
    if not one or not other or one[:1] != ["items"] or one[:2] != other[:2]:
        return False
    return sorted(map(repr, one[2])) == sorted(map(repr, other[2]))


def _is_no_evidence(step: Step, *, inferred: bool) -> bool:
    return _is_one_of(step, _MACHINE_LIMITS) or (inferred and _is_one_of(step, _TYPE_ERRORS))


def _are_related(left: Step, right: Step, errors: str) -> bool:
    if left["type"] == right["type"]:
        return True
    return errors == CONTRACT and (left["type"] in right["mro"] or right["type"] in left["mro"])


def _is_one_of(step: Step, names: tuple[str, ...]) -> bool:
    return any(name in step["mro"] for name in names)
