"""What inputs a callable takes, as JSON: from its annotations, its defaults, its class."""

from __future__ import annotations

import ast
import builtins
import collections.abc as abc
import datetime
import decimal
import enum
import fractions
import inspect
import pathlib
import sys
import textwrap
import types
import typing
from typing import Any

_DEEPEST = 4
_METHODS = 12
_SIMPLE: dict[Any, str] = {
    int: "int",
    float: "float",
    str: "str",
    bool: "bool",
    bytes: "bytes",
    bytearray: "bytes",
    complex: "float",
    type(None): "none",
    datetime.datetime: "datetime",
    datetime.date: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    datetime.tzinfo: "tzinfo",
    datetime.timezone: "tzinfo",
    decimal.Decimal: "decimal",
    fractions.Fraction: "fraction",
    abc.Hashable: "str",
    typing.Hashable: "str",
}
_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable, abc.Reversible)
_SETS = (set, abc.Set, abc.MutableSet)
_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_ITERATORS = (abc.Iterator, abc.Generator)

Described = dict  # of JSON


def describe(owner: Any, method: str | None) -> Described:
    """A function, a class, or a method of a class."""
    if not isinstance(owner, type):
        return {"kind": "function", "params": params_of(owner), "sources": _sources(owner)}
    found = _described_class(owner, 0)
    found["kind"] = "class" if method in (None, "__init__", "__post_init__") else "method"
    if found["kind"] == "method":
        found["method"] = _method(owner, method)
        found["name_of_method"] = method  # where it is a property, all that there is of it
    found["sources"] = _sources(owner)
    found["others"] = _others(owner)
    return found


def params_of(callable_: Any, *, bound: bool = False, depth: int = 0) -> list[Described]:
    """Its parameters."""
    try:
        signature = inspect.signature(callable_)
    except (ValueError, TypeError):
        return [{"name": "?", "type": {"t": "unknown", "name": "no signature"}, "how": "position"}]
    hints = _hints(callable_)
    params = list(signature.parameters.values())[1 if bound else 0 :]
    return [_param(one, hints, depth) for one in params]


def constants_of(sources: list[str]) -> list[str]:
    """The literals of some code, as source."""
    found: dict[str, None] = {}
    for source in sources:
        try:
            tree = _parsed(source)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value not in (None, True, False, ...):
                found[repr(node.value)] = None
    return [one for one in found if len(one) <= 60]


def has_sets(source: str) -> bool:
    """Whether some code makes sets, as far as its text tells."""
    try:
        tree = _parsed(source)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, (ast.Set, ast.SetComp)) or getattr(node, "id", "") in ("set", "frozenset")
        for node in ast.walk(tree)
    )


def _param(one: inspect.Parameter, hints: dict[str, Any], depth: int) -> Described:
    hint = hints.get(one.name, one.annotation)
    found: Described = {"name": one.name, "type": type_of(hint, depth), "how": _how(one)}
    if one.default is not one.empty:
        found["optional"] = True
        if hint is one.empty:
            found["type"] = _of_value(one.default)
    if one.kind is one.VAR_KEYWORD and found["type"]["t"] == "missing":
        found |= {"type": {"t": "union", "of": [{"t": "int"}, {"t": "str"}]}, "guessed": True}
    return found


def _how(one: inspect.Parameter) -> str:
    if one.kind is one.KEYWORD_ONLY:
        return "name"
    if one.kind is one.VAR_KEYWORD:
        return "any_name"
    return "many" if one.kind is one.VAR_POSITIONAL else "position"


def _of_value(value: Any) -> Described:
    if value is None:
        return {"t": "missing"}
    return {"t": _SIMPLE.get(type(value), "missing")}


def _hints(callable_: Any) -> dict[str, Any]:
    plain = inspect.unwrap(callable_) if callable(callable_) else callable_
    plain = getattr(plain, "__func__", plain)
    if isinstance(plain, type):
        plain = plain.__init__
    try:
        return typing.get_type_hints(plain)
    except Exception:  # noqa: BLE001 - a name that is for type checkers alone, or anything
        return {}


def type_of(hint: Any, depth: int = 0) -> Described:  # noqa: PLR0911 - one case a kind
    """The description of an annotation."""
    if hint is inspect.Parameter.empty or hint in (Any, object):
        return {"t": "missing"}
    if isinstance(hint, (str, typing.ForwardRef)):
        return _of_text(hint if isinstance(hint, str) else hint.__forward_arg__)
    if hint in (None, type(None)):
        return {"t": "none"}
    if isinstance(hint, abc.Hashable) and hint in _SIMPLE:
        return {"t": _SIMPLE[hint]}
    if isinstance(hint, typing.TypeVar):
        choices = hint.__constraints__ or ((hint.__bound__,) if hint.__bound__ else (int,))
        return type_of(choices[0], depth)
    if hasattr(hint, "__supertype__"):
        return type_of(hint.__supertype__, depth)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"t": "union", "of": [type_of(one, depth) for one in arguments]}
    if origin is typing.Literal:
        return {"t": "choice", "of": [repr(one) for one in arguments]}
    if origin is typing.Annotated:
        return type_of(arguments[0], depth)
    return _container(origin or hint, arguments, depth)


def _of_text(name: str) -> Described:
    try:
        found = eval(name, {**vars(typing), **vars(builtins)})  # an annotation's text
    except Exception:  # noqa: BLE001 - whatever it names is not known here
        return {"t": "unknown", "name": name}
    return {"t": "unknown", "name": name} if isinstance(found, str) else type_of(found)


def _container(kind: Any, arguments: tuple[Any, ...], depth: int) -> Described:  # noqa: C901, PLR0911 - one case a kind
    def of(at: int) -> Described:
        return type_of(arguments[at], depth + 1) if at < len(arguments) else {"t": "missing"}

    if kind in _LISTS:
        return {"t": "list", "of": of(0)}
    if kind in _ITERATORS:
        return {"t": "iterator", "of": of(0)}
    if kind in _SETS:
        return {"t": "set", "of": of(0)}
    if kind is frozenset:
        return {"t": "frozenset", "of": of(0)}
    if kind in _MAPS:
        return {"t": "dict", "keys": of(0), "values": of(1)}
    if kind is tuple:
        if len(arguments) == 1 + (arguments[-1:] == (...,)):
            each = of(0)
            return {"t": "tuple", "of": each} if len(arguments) > 1 else {"t": "row", "of": [each]}
        return {"t": "row", "of": [of(at) for at in range(len(arguments))]}
    if kind is abc.Callable:
        return {"t": "callable", "of": of(1)}
    if kind is type:
        return {"t": "unknown", "name": "a class"}
    return _class(kind, depth)


def _class(kind: Any, depth: int) -> Described:
    name = getattr(kind, "__qualname__", str(kind))
    if not isinstance(kind, type) or depth >= _DEEPEST or "<locals>" in name:
        return {"t": "unknown", "name": name}
    full = f"{kind.__module__}.{name}"
    if issubclass(kind, enum.Enum):
        members = [f"{full}.{one}" for one in kind.__members__]
        return {"t": "choice", "of": members, "import": kind.__module__}
    if typing.is_typeddict(kind):
        fields = {key: type_of(hint, depth + 1) for key, hint in _hints_of_class(kind).items()}
        return {"t": "record", "fields": fields}
    if issubclass(kind, pathlib.PurePath):
        return {"t": "path"}
    if _is_foreign(kind) or inspect.isabstract(kind) or _is_protocol(kind):
        return {"t": "unknown", "name": name}
    found = _described_class(kind, depth + 1)
    return {"t": "made", "name": full, "import": kind.__module__, **found}


def _is_foreign(kind: type) -> bool:
    """Whether it is the standard library's: sockets, processes, files are nothing to make."""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _hints_of_class(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except Exception:  # noqa: BLE001 - a name that is for type checkers alone, or anything
        return {}


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _described_class(kind: type, depth: int) -> Described:
    """How objects of a class are made: by calling it, or by class methods that return one."""
    makers = []
    for name, found in inspect.getmembers(kind, inspect.ismethod):
        if not name.startswith("_") and found.__self__ is kind and _returns_own(kind, found):
            makers.append({"name": name, "params": params_of(found, depth=depth)})
    return {"init": params_of(kind, depth=depth), "makers": makers[:_METHODS]}


def _returns_own(kind: type, method: Any) -> bool:
    hint = _hints(method).get("return", getattr(method, "__annotations__", {}).get("return"))
    return hint is kind or hint == kind.__name__ or str(hint).endswith((".Self", "Self"))


def _method(kind: type, name: str) -> Described | None:
    """A method's parameters; None for a property."""
    found = inspect.getattr_static(kind, name)
    if isinstance(found, (staticmethod, classmethod)):
        return {"name": name, "static": True, "params": params_of(getattr(kind, name))}
    if not callable(found):
        return None
    return {"name": name, "static": False, "params": params_of(found, bound=True)}


def _others(kind: type) -> list[Described]:
    """The public methods and properties, for programs of several steps."""
    found: list[Described] = []
    for name in dir(kind):
        if name.startswith("_") or len(found) >= _METHODS:
            continue
        method = _method(kind, name)
        if method is None:
            found.append({"name": name, "property": True})
        elif not method["static"]:
            found.append(method)
    return found


def _sources(thing: Any) -> list[str]:
    """The source of something, and of the variables of its module that it names."""
    own = _source(thing)
    try:
        names = {node.id for node in ast.walk(_parsed(own)) if isinstance(node, ast.Name)}
        module = ast.parse(inspect.getsource(sys.modules[thing.__module__]))
    except (AttributeError, KeyError, OSError, TypeError, SyntaxError, ValueError):
        return [own]
    assigned = [node for node in module.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return [own, *(ast.unparse(node) for node in assigned if names & set(_targets(node)))]


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _parsed(source: str) -> ast.Module:
    return ast.parse(textwrap.dedent(source))


def _source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""
