"""Readers of built-in and library values: the canonical form of a value by its own class.

A reader takes a builder for the parts, the value, and the class that the reader is for. Library
classes are found by their names, so that nothing is imported that the project did not import.
Standard library only; Python 3.6 to 3.14.
"""

import builtins
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol, TypeAlias

    Form: TypeAlias = "list[Any]"

    class Builder(Protocol):
        """Makes the forms of a value's parts."""

        def form(self, value: object) -> Form:
            """The form of a part."""

        def forms(self, values: Iterable[object]) -> list[Form]:
            """The forms of several parts."""

        def sorted_forms(self, values: Iterable[object]) -> list[Form]:
            """The forms of parts without order."""

        def pairs(self, items: Iterable[tuple[object, object]]) -> list[Form]:
            """The forms of a mapping's items."""

    Reader: TypeAlias = "Callable[[Builder, Any, Any], Form]"

MRO = type.__dict__["__mro__"].__get__
MODULE = type.__dict__["__module__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__


class Token:
    """Stands for an expected value that was taken out of a test."""

    __slots__ = ("length", "number")

    def __init__(self, number: int, length: "int | None" = None) -> None:
        self.number, self.length = number, length

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("the expected value has no length")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "token"


_BUILT_IN = dict(vars(builtins))  # before the project's code could change it


def name_of_class(cls: type) -> str:
    """A class's qualified name, also if its metaclass lies."""
    module, name = MODULE(cls), _QUALNAME(cls)
    module = "pathlib" if module == "pathlib._local" else module  # Python 3.13
    if module == "builtins" and BaseException in MRO(cls) and _BUILT_IN.get(name) is not cls:
        module = "?"  # it only claims to be built-in
    return "{}.{}".format(*(part if type(part) is str else "?" for part in (module, name)))


def names_of_classes(cls: type) -> "list[str]":
    """The names of a class and of its bases below object."""
    return [name_of_class(base) for base in MRO(cls) if base is not object]


def object_form(
    kind: str,
    names: "list[str]",
    base: "Form | None" = None,
    public: "Iterable[Form]" = (),
    private: "Iterable[Form]" = (),
    disclosures: "dict[str, Form] | None" = None,
) -> "Form":
    """The form of an object that is no exact built-in value."""
    return ["object", kind, names, base, list(public), list(private), disclosures or {}]


def text_form(text: str) -> "Form":
    """The form of a text; JSON would join two surrogates to one character."""
    text = str.__str__(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ["wide", text.encode("utf-8", "surrogatepass").hex()]
    return ["str", text]


def int_form(number: int) -> "Form":
    """The form of a whole number of any size."""
    return ["int", format(int.__add__(number, 0), "x")]


def float_form(number: float) -> "Form":
    """The form of a float, exact."""
    return ["float", float.hex(number)]


def _named(kind: str) -> "Reader":
    return lambda _b, v, _c: [
        kind,
        text_form(f"{getattr(v, '__module__', None)}.{getattr(v, '__qualname__', '?')}"),
    ]


def _attributes(kind: str, *names: str) -> "Reader":
    def read(builder: "Builder", value: "Any", cls: "Any") -> "Form":
        return [kind, *(builder.form(getattr(cls, name).__get__(value, cls)) for name in names)]

    return read


def _moment(kind: str, *names: str) -> "Reader":
    plain = _attributes(kind, *names)

    def read(builder: "Builder", value: "Any", cls: "Any") -> "Form":
        offset = cls.utcoffset(value)
        zone = [builder.form(offset), builder.form(None if offset is None else cls.tzname(value))]
        return [*plain(builder, value, cls), *zone]

    return read


def _group(kind: str, method: str = "__iter__") -> "Reader":
    return lambda b, v, c: [kind, *b.forms(getattr(c, method)(v))]


def _unordered(kind: str) -> "Reader":
    return lambda b, v, c: [kind, *b.sorted_forms(c.__iter__(v))]


def _mapping(kind: str) -> "Reader":
    return lambda b, v, c: [kind, *b.pairs(c.items(v))]


def _call(builder: "Builder", value: "Any", _cls: object) -> "Form":
    parts = list(tuple.__iter__(value))
    has_name = len(parts) > 2 and type(parts[0]) is str and parts[0]  # of an attribute of the mock
    return ["call", *map(builder.form, parts if has_name else parts[-2:])]


def _data(builder: "Builder", value: "Any", _cls: object) -> "Form":
    return builder.form(object.__getattribute__(value, "__dict__")["data"])


def _numpy_scalar(builder: "Builder", value: "Any", _cls: object) -> "Form":
    item = value.item()
    return builder.form(float(item) if type(item) is type(value) else item)  # a long double


def _array(builder: "Builder", value: "Any", _cls: object) -> "Form":
    labels = {"dtype": str(value.dtype), "shape": tuple(value.shape)}  # type: dict[str, object]
    index = getattr(value, "index", None)  # of numpy's arrays, nothing
    if index is not None and hasattr(index, "tolist"):
        labels["index"] = index.tolist()
    public = [[name, builder.form(part)] for name, part in labels.items()]
    items = {"list": builder.form(value.tolist())}
    return object_form("array", names_of_classes(type(value)), None, public, (), items)


def _table(builder: "Builder", value: "Any", _cls: object) -> "Form":
    columns = [(name, value[name].tolist()) for name in value.columns]
    public = [["index", builder.form(value.index.tolist())]]
    items = {"dict": ["dict", *builder.pairs(columns)]}
    return object_form("array", names_of_classes(type(value)), None, public, (), items)


READERS = {
    type(None): lambda _b, _v, _c: ["none"],
    bool: lambda _b, v, _c: ["bool", v],
    int: lambda _b, v, _c: int_form(v),
    float: lambda _b, v, _c: float_form(v),
    complex: lambda _b, v, _c: [
        "complex",
        *(float.hex(complex.__dict__[part].__get__(v)) for part in ("real", "imag")),
    ],
    str: lambda _b, v, _c: text_form(v),
    bytes: lambda _b, v, _c: ["bytes", bytes.hex(v)],
    bytearray: lambda _b, v, _c: ["bytearray", bytearray.hex(v)],
    memoryview: lambda _b, v, _c: ["bytes", bytes.hex(memoryview.tobytes(v))],
    list: _group("list"),
    tuple: _group("tuple"),
    dict: _mapping("dict"),
    MappingProxyType: _mapping("dict"),
    set: _unordered("set"),
    frozenset: _unordered("frozenset"),
    type({}.keys()): _unordered("keys"),
    type({}.items()): _unordered("keys"),
    type({}.values()): _group("values"),
    range: _attributes("range", "start", "stop", "step"),
    slice: _attributes("slice", "start", "stop", "step"),
    type(...): lambda _b, _v, _c: ["constant", ["str", "Ellipsis"]],
    type(NotImplemented): lambda _b, _v, _c: ["constant", ["str", "NotImplemented"]],
    type: lambda _b, v, _c: ["class", text_form(name_of_class(v))],
    FunctionType: _named("function"),
    BuiltinFunctionType: _named("function"),
    MethodType: _named("function"),
    ModuleType: lambda _b, v, _c: ["module", text_form(object.__getattribute__(v, "__name__"))],
    Token: lambda _b, v, _c: ["token", int_form(v.number)],
}  # type: dict[type, Reader]
# By name, so that nothing is imported. A class that takes such a name only misinforms about itself.
NAMED_READERS = {
    "collections.OrderedDict": _mapping("ordered"),
    "collections.defaultdict": _mapping("dict"),
    "collections.Counter": _mapping("dict"),
    "collections.deque": _group("deque"),
    "collections.UserDict": _data,
    "collections.UserList": _data,
    "collections.UserString": _data,
    "datetime.date": _attributes("date", "year", "month", "day"),
    "datetime.time": _moment("time", "hour", "minute", "second", "microsecond"),
    "datetime.datetime": _moment(
        "datetime", "year", "month", "day", "hour", "minute", "second", "microsecond"
    ),
    "datetime.timedelta": _attributes("timedelta", "days", "seconds", "microseconds"),
    "decimal.Decimal": lambda _b, v, c: ["decimal", text_form(c.__str__(v))],
    "fractions.Fraction": _attributes("fraction", "_numerator", "_denominator"),
    "uuid.UUID": lambda _b, v, _c: ["uuid", int_form(object.__getattribute__(v, "int"))],
    "re.Pattern": _attributes("pattern", "pattern", "flags"),
    "_sre.SRE_Pattern": _attributes("pattern", "pattern", "flags"),
    "pathlib.PurePath": lambda _b, v, c: [
        "path",
        text_form("windows" if "Windows" in type(v).__name__ else "posix"),
        text_form(c.__str__(v)),
    ],
    "unittest.mock._Call": _call,
    "mock.mock._Call": _call,
    "numpy.ndarray": _array,
    "numpy.generic": _numpy_scalar,
    "pandas.Series": _array,
    "pandas.Index": _array,
    "pandas.DataFrame": _table,
    "pandas._libs.tslibs.nattype._NaT": lambda _b, _v, _c: ["constant", ["str", "NaT"]],
    "pandas.core.series.Series": _array,
    "pandas.core.indexes.base.Index": _array,
    "pandas.core.frame.DataFrame": _table,
}  # type: dict[str, Reader]
