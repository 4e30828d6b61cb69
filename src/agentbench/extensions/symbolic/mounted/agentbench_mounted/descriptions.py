"""The inputs that a callable takes, as JSON: from its annotations, its defaults and its class."""

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
from collections.abc import Callable
from typing import TYPE_CHECKING

from .foreign_code import call_foreign

if TYPE_CHECKING:
    from .messages import Description, Method, Parameter, TypeDescription

_DEEPEST = 4
_METHODS = 12
_DATETIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)
_SIMPLE: dict[object, str] = {
    **{kind: kind.__name__ for kind in (int, float, str, bool, bytes, *_DATETIMES)},
    bytearray: "bytes",
    complex: "float",
    type(None): "none",
    datetime.timezone: "tzinfo",
    decimal.Decimal: "decimal",
    fractions.Fraction: "fraction",
    **dict.fromkeys((abc.Hashable, typing.Hashable), "str"),
}
_CONTAINERS: dict[str, tuple[object, ...]] = {
    "list": (list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable, abc.Reversible),
    "iterator": (abc.Iterator, abc.Generator),
    "set": (set, abc.Set, abc.MutableSet),
    "frozenset": (frozenset,),
}
_HOW: dict[object, str] = {
    inspect.Parameter.KEYWORD_ONLY: "name",
    inspect.Parameter.VAR_POSITIONAL: "many",
    inspect.Parameter.VAR_KEYWORD: "any_name",
}
_MAPS = (dict, abc.Mapping, abc.MutableMapping)


def describe(owner: object, method: str | None) -> Description:
    """Describe a function, a class, or a method of a class."""
    if not isinstance(owner, type):
        return {"kind": "function", "params": params_of(owner), "sources": _sources(owner)}
    found: Description = {
        "kind": "class",
        "init": params_of(owner),
        "makers": _makers(owner, 0),
        "sources": _sources(owner),
        "others": _others(owner),
    }
    if method not in (None, "__init__", "__post_init__"):
        found["kind"] = "method"
        found["method"] = _method(owner, method)
        found["name_of_method"] = method  # the only fact about a property
    return found


def params_of(callable_: object, *, bound: bool = False, depth: int = 0) -> list[Parameter]:
    """Describe a callable's parameters."""
    try:
        signature = inspect.signature(callable_)  # type: ignore[arg-type] # it raises TypeError
    except (ValueError, TypeError):
        return [{"name": "?", "type": {"t": "unknown", "name": "no signature"}, "how": "position"}]
    hints = _hints(callable_)
    params = list(signature.parameters.values())[1 if bound else 0 :]
    return [_param(one, hints, depth) for one in params]


def constants_of(sources: list[str]) -> list[str]:
    """The literals in source code, as source."""
    found: dict[str, None] = {}
    for source in sources:
        for node in ast.walk(_parsed(source)):
            if isinstance(node, ast.Constant) and node.value not in (None, True, False, ...):
                found[repr(node.value)] = None
    return [one for one in found if len(one) <= 60]


def has_sets(source: str) -> bool:
    """Whether source code names or writes a set."""
    return any(
        isinstance(node, (ast.Set, ast.SetComp)) or getattr(node, "id", "") in ("set", "frozenset")
        for node in ast.walk(_parsed(source))
    )


def _param(one: inspect.Parameter, hints: dict[str, object], depth: int) -> Parameter:
    hint, how = hints.get(one.name, one.annotation), _HOW.get(one.kind, "position")
    found: Parameter = {"name": one.name, "type": type_of(hint, depth), "how": how}
    if one.default is not one.empty:
        found["optional"] = True
        if hint is one.empty:
            kind = "missing" if one.default is None else _SIMPLE.get(type(one.default), "missing")
            found["type"] = {"t": kind}
    if one.kind is one.VAR_KEYWORD and found["type"]["t"] == "missing":
        found["type"] = {"t": "union", "of": [{"t": "int"}, {"t": "str"}]}
        found["guessed"] = True
    return found


def _hints(callable_: object) -> dict[str, object]:
    plain: object = inspect.unwrap(callable_) if callable(callable_) else callable_
    plain = getattr(plain, "__func__", plain)
    return _evaluated_hints(getattr(plain, "__init__") if isinstance(plain, type) else plain)  # noqa: B009 - mypy


# The annotations of a function or class; none if a name exists for type checkers only.
def _evaluated_hints(definition: object) -> dict[str, object]:
    return call_foreign(lambda: typing.get_type_hints(definition)).value or {}


def type_of(hint: object, depth: int = 0) -> TypeDescription:
    """The description of an annotation."""
    if hint is inspect.Parameter.empty or hint in (typing.Any, object):
        return {"t": "missing"}
    if isinstance(hint, (str, typing.ForwardRef)):
        # The description of an annotation's text, which may name anything.
        name = hint if isinstance(hint, str) else hint.__forward_arg__
        result = call_foreign(lambda: eval(name, {**vars(typing), **vars(builtins)}))
        if result.error is not None or isinstance(result.value, str):
            return {"t": "unknown", "name": name}
        return type_of(result.value)
    if hint in (None, type(None)):
        return {"t": "none"}
    if isinstance(hint, abc.Hashable) and hint in _SIMPLE:  # type: ignore[redundant-expr] # it can be a list
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


def _container(kind: object, arguments: tuple[object, ...], depth: int) -> TypeDescription:
    def of(at: int) -> TypeDescription:
        return type_of(arguments[at], depth + 1) if at < len(arguments) else {"t": "missing"}

    for name, kinds in _CONTAINERS.items():
        if kind in kinds:
            return {"t": name, "of": of(0)}
    if kind in _MAPS:
        return {"t": "dict", "keys": of(0), "values": of(1)}
    if kind is tuple:
        if len(arguments) == 1 + (arguments[-1:] == (...,)):
            each = of(0)
            return {"t": "tuple", "of": each} if len(arguments) > 1 else {"t": "row", "of": [each]}
        return {"t": "row", "of": [of(at) for at in range(len(arguments))]}
    if kind is Callable:
        return {"t": "callable", "of": of(1)}
    if kind is type:
        return {"t": "unknown", "name": "a class"}
    return _class(kind, depth)


def _class(kind: object, depth: int) -> TypeDescription:
    name = getattr(kind, "__qualname__", str(kind))
    if not isinstance(kind, type) or depth >= _DEEPEST or "<locals>" in name:
        return {"t": "unknown", "name": name}
    full = f"{kind.__module__}.{name}"
    if issubclass(kind, enum.Enum):
        members = [f"{full}.{one}" for one in kind.__members__]
        return {"t": "choice", "of": members, "module": kind.__module__}
    if typing.is_typeddict(kind):
        fields = {key: type_of(hint, depth + 1) for key, hint in _evaluated_hints(kind).items()}
        return {"t": "record", "fields": fields}
    if issubclass(kind, pathlib.PurePath):
        return {"t": "path"}
    # Sockets, processes and files of the standard library cannot be made from values.
    is_standard = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    if is_standard or inspect.isabstract(kind) or getattr(kind, "_is_protocol", False):
        return {"t": "unknown", "name": name}
    return {
        "t": "made",
        "name": full,
        "module": kind.__module__,
        "init": params_of(kind, depth=depth + 1),
        "makers": _makers(kind, depth + 1),
    }


def _makers(kind: type, depth: int) -> list[Method]:
    makers: list[Method] = []
    for name, found in inspect.getmembers(kind, inspect.ismethod):
        if not name.startswith("_") and found.__self__ is kind and _returns_own(kind, found):
            makers.append({"name": name, "params": params_of(found, depth=depth)})
    return makers[:_METHODS]


def _returns_own(kind: type, method: object) -> bool:
    hint = _hints(method).get("return", getattr(method, "__annotations__", {}).get("return"))
    return hint is kind or hint == kind.__name__ or str(hint).endswith((".Self", "Self"))


def _method(kind: type, name: str) -> Method | None:
    found = inspect.getattr_static(kind, name)
    if isinstance(found, (staticmethod, classmethod)):
        return {"name": name, "static": True, "params": params_of(getattr(kind, name))}
    if not callable(found):
        return None
    return {"name": name, "static": False, "params": params_of(found, bound=True)}


# The public methods and properties, for programs of several steps.
def _others(kind: type) -> list[Method]:
    found: list[Method] = []
    for name in dir(kind):
        if name.startswith("_") or len(found) >= _METHODS:
            continue
        method = _method(kind, name)
        if method is None:
            found.append({"name": name, "property": True})
        elif not method["static"]:
            found.append(method)
    return found


# The source of something, and of the variables of its module that it names.
def _sources(definition: object) -> list[str]:
    own = _source(definition)
    names = {node.id for node in ast.walk(_parsed(own)) if isinstance(node, ast.Name)}
    try:
        module = ast.parse(inspect.getsource(sys.modules[definition.__module__]))
    except (AttributeError, KeyError, OSError, TypeError, SyntaxError, ValueError):
        return [own]
    assigned = [node for node in module.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return [own, *(ast.unparse(node) for node in assigned if names & set(_targets(node)))]


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _source(definition: object) -> str:
    try:
        return inspect.getsource(definition)  # type: ignore[arg-type] # it raises TypeError
    except (OSError, TypeError):
        return ""
