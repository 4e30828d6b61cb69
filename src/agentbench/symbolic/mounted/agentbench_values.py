"""Values in a form that is compared between two trees, and in short words for a reader.

Two trees define the same class twice, so that no value of the one equals a value of the other. What
is compared is what both would show: names of classes, public fields, items.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
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
                items = self._items(value, depth)
                # The order in a set hangs on hashes, which no two runs have in common.
                return [
                    kind,
                    name or type(value).__name__,
                    sorted(items, key=repr) if kind == "set" else items,
                ]
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
