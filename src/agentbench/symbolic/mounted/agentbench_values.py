"""Values in a form that is compared between two trees, and in short words for a reader.

Two trees define the same class twice, so that no value of the one equals a value of the other.
What is compared is what both would show: names of classes, public fields, items.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
import math
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

_DEEPEST = 8
_NODES = 3000
_ITEMS = 300
_LONGEST = 160
_RELATIVE = 1e-9  # another order of the same sums is no other behaviour
_ABSOLUTE = 1e-12

Form = list  # [kind, ...] of JSON values


def text_of(value: Any) -> str:
    """A short repr, whatever the value's own does."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - it is the agent's code that raises
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"


def form_of(value: Any) -> Form:
    """What is compared of a value."""
    return _Former().form(value, 0)


def same(left: Form, right: Form) -> bool:
    """Whether two forms show the same; what cannot be looked into is the same as all else."""
    if left[0] in ("opaque", "cut") or right[0] in ("opaque", "cut"):
        return True
    if left[0] != right[0]:
        return False
    kind = left[0]
    if kind == "number":
        return _same_number(left[1], right[1])
    if kind in ("items", "set", "map", "fields"):
        return left[1] == right[1] and _same_parts(kind, left[2], right[2])
    return left == right


def _same_number(left: Any, right: Any) -> bool:
    if left == right:
        return True
    try:
        one, other = float(left), float(right)
    except (ValueError, TypeError, OverflowError):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if one.is_integer() and other.is_integer() and "." not in f"{left}{right}":
        return False  # whole numbers differ by one or they do not
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _same_parts(kind: str, left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if kind == "fields":
        return set(left) == set(right) and all(same(left[name], right[name]) for name in left)
    if kind == "items":
        return all(map(same, left, right))
    waiting = list(right)
    for part in left:  # unordered: sets, and mappings as pairs
        at = next((n for n, other in enumerate(waiting) if _same_part(kind, part, other)), None)
        if at is None:
            return False
        del waiting[at]
    return True


def _same_part(kind: str, left: Any, right: Any) -> bool:
    if kind == "set":
        return same(left, right)
    return same(left[0], right[0]) and same(left[1], right[1])


class _Former:
    """Walks a value; what is too deep, too much or its own part is cut off."""

    def __init__(self) -> None:
        self._nodes = 0
        self._within: set[int] = set()

    def form(self, value: Any, depth: int) -> Form:
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _NODES or id(value) in self._within:
            return ["cut"]
        plain = _plain(value)
        if plain is not None:
            return plain
        self._within.add(id(value))
        try:
            return self._inside(value, depth + 1)
        finally:
            self._within.discard(id(value))

    def _inside(self, value: Any, depth: int) -> Form:
        if isinstance(value, Mapping):
            pairs = itertools.islice(value.items(), _ITEMS)
            named = [[self.form(key, depth), self.form(item, depth)] for key, item in pairs]
            return ["map", "mapping", named]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._fields(value, dict(zip(value._fields, value, strict=False)), depth)
        if isinstance(value, BaseException):
            return ["items", type(value).__name__, []]
        for kinds, kind, name in _SEVERAL:
            if isinstance(value, kinds):
                return [kind, name or type(value).__name__, self._items(value, depth)]
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Form:
        if dataclasses.is_dataclass(value):
            fields = [one for one in dataclasses.fields(value) if one.compare]
            shown = {one.name: getattr(value, one.name, None) for one in fields}
        else:
            shown = getattr(value, "__dict__", {})
        public = {name: item for name, item in shown.items() if not name.startswith("_")}
        if public:
            return self._fields(value, public, depth)
        if isinstance(value, Sequence) or _is_collection(value):
            return ["items", type(value).__name__, self._items(value, depth)]
        if type(value).__str__ is not object.__str__ and "__dict__" in dir(value):
            return ["shown", type(value).__name__, text_of(str(value))]
        return ["opaque", type(value).__name__]

    def _fields(self, value: Any, fields: Mapping[str, Any], depth: int) -> Form:
        formed = {name: self.form(item, depth) for name, item in fields.items()}
        return ["fields", type(value).__name__, formed]

    def _items(self, value: Any, depth: int) -> list[Form]:
        return [self.form(item, depth) for item in itertools.islice(value, _ITEMS)]


_SEVERAL: tuple[tuple[Any, str, str], ...] = (
    (Set, "set", "set"),
    ((list, tuple, deque), "items", ""),
    (Iterator, "items", "iterator"),
)


def _is_collection(value: Any) -> bool:
    return hasattr(value, "__iter__") and hasattr(value, "__len__") and not isinstance(value, type)


def _plain(value: Any) -> Form | None:
    """The form of what has no parts."""
    if isinstance(value, enum.Enum):
        return ["member", type(value).__name__, value.name]
    for kinds, form in _PLAIN:
        if isinstance(value, kinds):
            return form(value)
    return ["opaque", type(value).__name__] if callable(value) else None


_PLAIN: tuple[tuple[Any, Callable[[Any], Form]], ...] = (
    (type(None), lambda _value: ["none"]),
    ((bool, int), lambda value: ["number", str(int(value))]),
    ((float, complex, Decimal, Fraction), lambda value: ["number", str(value)]),
    (str, lambda value: ["text", str.__str__(value)]),
    ((bytes, bytearray, memoryview), lambda value: ["bytes", bytes(value).hex()]),
    (
        (datetime.datetime, datetime.date, datetime.time),
        lambda value: [type(value).__name__, value.isoformat()],
    ),
    ((datetime.timedelta, range, slice), lambda value: [type(value).__name__, repr(value)]),
    (type, lambda value: ["class", value.__name__]),
    (types.ModuleType, lambda value: ["opaque", value.__name__]),
)
