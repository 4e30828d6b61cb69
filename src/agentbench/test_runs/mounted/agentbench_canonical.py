"""The canonical form of a value: JSON lists that say what a test could see of the value.

The kind comes first. Parts of a form are forms themselves.

- Single values: `["none"]`, `["bool", true]`, `["int", "-ff"]`, `["float", "0x1.8p+0"]` (or nan,
  inf, -inf), `["complex", float, float]`, `["str", text]`, `["wide", hex of UTF-8]` (a text with
  surrogates), `["bytes", hex]`, `["bytearray", hex]`.
- Groups: list, tuple, set, frozenset, deque, dict and its relatives (of `["pair", key, value]`),
  keys, values, range, slice, date, time, datetime, timedelta, decimal, fraction, uuid, path,
  pattern, class, function, module, call (of unittest.mock), constant, token.
- `["object", kind, types, base, public, private, disclosures]`: the names of the class and of its
  bases, the value of a built-in base or null, the state as pairs of name and form, and what the
  object's methods say. Kinds: object, subclass, dataclass, namedtuple, enum, exception,
  array, mock.
- `["back", levels]` (a cycle), `["cut"]` (too large or unreadable); agentbench_canonical_bounds
  adds `["digest", sha256, count]` and, at the end of a group, `["rest", sha256, count]`.

Built-in values are read by their base type's own methods. Nothing here imports what the project
did not. Standard library only; Python 3.6 to 3.14.
"""

import json
import re
import sys
from contextlib import suppress
from functools import partial
from itertools import islice
from types import MemberDescriptorType
from typing import TYPE_CHECKING

if TYPE_CHECKING or __name__.startswith("agentbench."):  # the host uses it, too
    from agentbench.test_runs.mounted import agentbench_canonical_bounds as bounds
    from agentbench.test_runs.mounted import agentbench_canonical_readers as readers
    from agentbench.test_runs.mounted import agentbench_time_limits as time_limits
else:
    import agentbench_canonical_bounds as bounds
    import agentbench_canonical_readers as readers
    import agentbench_time_limits as time_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from agentbench.test_runs.mounted.agentbench_canonical_readers import Form

    Disclose: TypeAlias = "Callable[[FormBuilder, Any], Form]"

_MOST_NODES = 400000
_MOST_STATE_NODES = 8000  # of the states of all objects; a state may reach the whole program
_MOST_OBJECT_NODES = 700  # of the state of one object with all that it refers to
_MOST_OBJECTS = 2000
_MOST_PROPERTIES = 300  # of all objects; each one runs code, and may make more objects
_DEEPEST_PROPERTY = 1
_MOST_ITEMS = 20000  # that an object's own methods yield
_DEEPEST = 40
_DEEPEST_STATE = 4
_DEEPEST_DISCLOSURE = 2
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DICT = type.__dict__["__dict__"].__get__
_FOUNDATIONS = ("builtins", "enum", "abc", "typing")  # their methods say nothing about a class
_MOCKS = ("unittest.mock.NonCallableMock", "mock.mock.NonCallableMock")
_CUT = ["cut"]
_MOST_ATTRIBUTES = 100
_MOST_NAMES = 4  # of one exception; a plausible one has many


def canonical_form(
    value: object,
    share: int = 1,
    limits: "time_limits.TimeLimits | None" = None,
    properties: "frozenset[str] | None" = None,
) -> "Form":
    """The form of any value; calls methods of objects of the project's own classes only.

    Args:
        value: the value.
        share: how many values share the limits of what is read of objects.
        limits: limit the time of methods and properties.
        properties: the digests of the names of properties that are read; None: all.
    """
    return FormBuilder(share, limits, properties).form(value)


class FormBuilder:
    """Walks one value."""

    def __init__(
        self,
        share: int = 1,
        limits: "time_limits.TimeLimits | None" = None,
        properties: "frozenset[str] | None" = None,
    ) -> None:
        self._limits, self._readable = limits, properties
        self._most_state_nodes = _MOST_STATE_NODES // share
        self._most_objects, self._most_properties = (
            _MOST_OBJECTS // share,
            _MOST_PROPERTIES // share,
        )
        self._nodes = self._state_nodes = self._object_nodes = self._objects = 0
        self._state_depth = self._properties = 0
        self._path = []  # type: list[object]  # the values that this one is a part of

    def form(self, value: object) -> "Form":
        if value is time_limits.Late or self._is_full() or len(self._path) > _DEEPEST:
            return _CUT
        self._nodes += 1
        if self._state_depth:
            self._state_nodes += 1
            self._object_nodes += 1
        for levels, outer in enumerate(reversed(self._path), 1):
            if outer is value:
                return ["back", levels]
        self._path.append(value)
        try:
            return self._read(value)
        except Exception:  # noqa: BLE001 - methods of the project's objects raise anything
            return _CUT
        finally:
            self._path.pop()

    def forms(self, values: "Iterable[object]") -> "list[Form]":
        found = []  # type: list[Form]
        for value in values:
            found.append(self.form(value))
            if self._is_full():
                return [*found, _CUT]
        return found

    def sorted_forms(self, values: "Iterable[object]") -> "list[Form]":
        """The forms of parts without order, in the order of their texts."""
        return sorted(self.forms(values), key=json.dumps)

    def pairs(self, items: "Iterable[tuple[object, object]]") -> "list[Form]":
        found = []  # type: list[Form]
        for key, value in items:
            found.append(["pair", self.form(key), self.form(value)])
            if self._is_full():
                return [*found, ["pair", _CUT, _CUT]]
        return found

    def _is_full(self) -> bool:
        state = self._state_nodes >= self._most_state_nodes
        state = state or self._object_nodes >= _MOST_OBJECT_NODES
        return self._nodes >= _MOST_NODES or (self._state_depth > 0 and state)

    def _read(self, value: object) -> "Form":
        mro = readers.MRO(type(value))
        for cls in mro:
            reader = readers.READERS.get(cls) or readers.NAMED_READERS.get(
                readers.name_of_class(cls)
            )
            if reader is not None:
                form = reader(self, value, cls)
                is_exact = cls is mro[0] or form[0] in ("class", "path", "call", "object")
                return form if is_exact else self._object(value, mro, form)
        return self._object(value, mro, None)

    def _object(self, value: object, mro: "tuple[type, ...]", base: "Form | None") -> "Form":
        names = readers.names_of_classes(mro[0])
        if any(name in names for name in _MOCKS):  # they count calls, also ours
            return readers.object_form("mock", names)
        kind, fields = _kind(mro)
        kind = "subclass" if kind == "object" and base is not None else kind
        if self._state_depth and kind != "exception":
            del names[1:]
        elif kind == "exception" and readers.MODULE(mro[0]) not in _FOUNDATIONS:
            names += _other_names(mro[0])
        self._objects += 1
        is_full = self._state_nodes >= self._most_state_nodes or self._objects > self._most_objects
        if is_full or self._state_depth >= _DEEPEST_STATE:
            return readers.object_form(kind, names, base)
        if self._state_depth == 0:
            self._object_nodes = 0
        disclosures = self._disclosures(value, mro)  # before the state, which they may fill
        if kind == "exception":
            disclosures.update(self._texts_of_exception(value))
        self._state_depth += 1
        try:
            states = self._states(value, mro, kind, fields)
        finally:
            self._state_depth -= 1
        return readers.object_form(kind, names, base, *states, disclosures)

    def _states(
        self, value: object, mro: "tuple[type, ...]", kind: str, fields: "dict[str, object]"
    ) -> "tuple[list[Form], list[Form]]":
        if kind == "enum":
            state = [(n, object.__getattribute__(value, f"_{n}_")) for n in ("name", "value")]
        else:
            state = _state(value, mro)
            if kind == "namedtuple":
                names = next(_DICT(cls)["_fields"] for cls in mro if "_fields" in _DICT(cls))
                # Not `iter`: a class may have its own. mypy cannot know that it is a tuple.
                items = tuple.__iter__(value)  # type: ignore[arg-type,var-annotated]
                # Python 3.9 in sandboxes has no `strict`.
                state += [(str(name), item) for name, item in zip(names, items)]  # noqa: B905
        places = {name: place for place, name in enumerate(fields)}
        state.sort(key=lambda pair: places.get(pair[0], len(places)))
        hidden = {name for name, field in fields.items() if getattr(field, "compare", 1) is False}
        public = [pair for pair in state if not pair[0].startswith("_") and pair[0] not in hidden]
        may_read = self._state_depth <= _DEEPEST_PROPERTY
        may_read = may_read and self._properties < self._most_properties
        if not public and kind in ("object", "subclass") and may_read:
            public = self._read_properties(value, mro)
            self._properties += len(public)
        private = [pair for pair in state if pair[0].startswith("_") or pair[0] in hidden]
        forms = [[[name, self.form(part)] for name, part in pairs] for pairs in (public, private)]
        return forms[0], forms[1]

    def _texts_of_exception(self, error: "Any") -> "dict[str, Form]":
        args = BaseException.__dict__["args"].__get__(error)
        found = {"args": self.form(args)}
        try:
            notes = getattr(error, "__notes__", None)  # pytest.raises matches them, too
            said = self._within_limit(lambda: str(error))
            if said is time_limits.Late:
                return dict(found, str=_CUT)
            text = "\n".join([said, *(notes if type(notes) is list else [])])
        except Exception:  # noqa: BLE001 - methods of the project's objects raise anything
            return found
        return dict(found, str=self.form(_ADDRESS.sub(" at 0x", text)))

    def _disclosures(self, value: "Any", mro: "tuple[type, ...]") -> "dict[str, Form]":
        # The tested process has no expected value that these methods could return instead of their
        # own.
        if self._state_depth >= _DEEPEST_DISCLOSURE:
            return {}
        methods = set()  # type: set[str]
        for cls in mro:
            if (
                readers.MODULE(cls) not in _FOUNDATIONS
                and readers.name_of_class(cls) not in readers.NAMED_READERS
            ):
                methods.update(_DICT(cls))
        found = {}
        for name, needed, refused, disclose in _DISCLOSURES:
            if methods.issuperset(needed) and methods.isdisjoint(refused):
                with suppress(Exception):
                    form = self._within_limit(partial(disclose, self, value))
                    found[name] = _CUT if form is time_limits.Late else form
        return found

    def _within_limit(self, method: "Callable[[], Any]") -> "Any":
        return method() if self._limits is None else self._limits.method(method)

    def _read_properties(
        self, value: object, mro: "tuple[type, ...]"
    ) -> "list[tuple[str, object]]":
        found = {}  # type: dict[str, object]
        for cls in mro:
            if readers.MODULE(cls) in _FOUNDATIONS:
                continue
            for name, member in list(_DICT(cls).items())[:_MOST_ATTRIBUTES]:
                if type(member) is not property or name in found:
                    continue
                read, known = partial(getattr, value, name), self._readable
                with suppress(Exception):
                    if name[0] != "_" and (known is None or bounds.digest(["str", name]) in known):
                        # One that is late stays in the state, as a part that cannot be read.
                        found[name] = read() if self._limits is None else self._limits.read(read)
        return list(found.items())


def _kind(mro: "tuple[type, ...]") -> "tuple[str, dict[str, object]]":
    for cls in mro:
        attributes = _DICT(cls)
        if readers.name_of_class(cls) == "enum.Enum":
            return "enum", {}
        if cls is BaseException:
            return "exception", {}
        if type(attributes.get("__dataclass_fields__")) is dict:
            return "dataclass", dict(attributes["__dataclass_fields__"])
        if type(attributes.get("_fields")) is tuple and tuple in mro:
            return "namedtuple", dict.fromkeys(attributes["_fields"])
    return "object", {}


def _state(value: object, mro: "tuple[type, ...]") -> "list[tuple[str, object]]":
    state = []
    for cls in reversed(mro):
        for name, member in list(_DICT(cls).items()):
            if type(member) is MemberDescriptorType and "__slots__" in _DICT(cls):
                with suppress(AttributeError):  # not set
                    state.append((name, member.__get__(value, None)))
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:  # noqa: BLE001 - a property of this name may raise anything
        return state
    if isinstance(attributes, dict):
        state += [pair for pair in dict.items(attributes) if type(pair[0]) is str]
    return state


def _other_names(cls: type) -> "list[str]":
    """The names that modules give to a class of another name; none if there are many of them."""
    found = set()
    for module in list(sys.modules.values()):
        with suppress(Exception):
            attributes = object.__getattribute__(module, "__dict__")
            found |= {name for name, value in list(attributes.items()) if value is cls}
    others = sorted(found - {readers.name_of_class(cls).rpartition(".")[2]})
    return others if len(others) < _MOST_NAMES else []


def _list_of(builder: FormBuilder, value: "Any") -> "Form":
    items = list(islice(iter(value), _MOST_ITEMS + 1))
    return _CUT if len(items) > _MOST_ITEMS else builder.form(items)


def _dict_of(builder: FormBuilder, value: "Any") -> "Form":
    keys = list(islice(iter(value.keys()), _MOST_ITEMS + 1))
    if len(keys) > _MOST_ITEMS:
        return _CUT
    return ["dict", *builder.pairs((key, value[key]) for key in keys)]


def _as_text(builder: FormBuilder, text: str) -> "Form":
    return builder.form(_ADDRESS.sub(" at 0x", str.__str__(text)))


# The name, the methods that a class must have, those that it must not have, and the call.
_DISCLOSURES = (
    ("str", ("__str__",), (), lambda b, v: _as_text(b, str(v))),
    ("repr", ("__repr__",), (), lambda b, v: _as_text(b, repr(v))),
    ("bool", ("__bool__",), (), lambda b, v: b.form(bool(v))),
    ("bool", ("__len__",), ("__bool__",), lambda b, v: b.form(bool(v))),
    ("index", ("__index__",), (), lambda b, v: b.form(v.__index__())),
    ("int", ("__int__",), (), lambda b, v: b.form(int(v))),
    ("float", ("__float__",), (), lambda b, v: b.form(float(v))),
    ("bytes", ("__bytes__",), (), lambda b, v: b.form(bytes(v))),
    ("list", ("__len__", "__iter__"), ("__next__",), _list_of),
    ("list", ("__len__", "__getitem__"), ("__next__", "__iter__", "keys"), _list_of),
    ("dict", ("keys", "__getitem__", "__len__"), ("__next__",), _dict_of),
    ("wrapped", ("__wrapped__",), (), lambda b, v: b.form(v.__wrapped__)),
    ("wrapped", ("_get_current_object",), (), lambda b, v: b.form(v._get_current_object())),
)  # type: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Disclose], ...]
