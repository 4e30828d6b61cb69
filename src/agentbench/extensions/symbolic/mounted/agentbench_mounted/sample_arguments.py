"""Types for parameters without annotation, and plain inputs to really try, from samples.

A search follows a model of Python; plain inputs are tried before it says that it found nothing.
"""

import ast
import dataclasses
import enum
import inspect
import itertools
import keyword
import types
import typing
from collections.abc import Callable, Iterator

from .foreign_code import call_foreign

Literals = dict[object, list[object]]

_KNOWN = (int, str, float, bool, bytes, type(None))
_CONTAINERS = (list, dict, set, frozenset, tuple)
_SAMPLES: dict[object, tuple[str, str, str]] = {
    int: ("0", "1", "7"),
    str: ("''", "'a'", "'7 b'"),
    list[int]: ("[]", "[1]", "[3, 7]"),
    list[str]: ("[]", "['a']", "['7', 'b']"),
    dict[str, int]: ("{}", "{'a': 1}", "{'b': 7, 'c': 0}"),
    float: ("0.0", "1.5", "-7.0"),
}
_MOST_COMBINATIONS = 40  # of types
_UNTYPED = inspect.Parameter.empty
_MOST_CALLS = 60
_MOST_VALUES = 12  # of one type
_OFTEN: dict[object, tuple[object, ...]] = {
    int: (0, 1, -1, 2, 10, 100, 2**31, -(2**63), 10**18),
    str: ("", "a", "A b", "0", "é", "\x00", "ǆ", "\n", "²"),
    float: (0.0, -1.5, 0.1, 1e308, -0.0, 1e-320),
    bool: (True, False),
    bytes: (b"", b"a", b"\xff\x00"),
    type(None): (None,),
}


def is_enumerable(annotation: object) -> bool:
    """Whether a search reaches all values of a type: no part of it is open."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _KNOWN or origin is typing.Literal:
        return True
    if origin in (*_CONTAINERS, typing.Union, types.UnionType, typing.Annotated):
        inner = arguments[:1] if origin is typing.Annotated else arguments
        return bool(inner) and all(each is Ellipsis or is_enumerable(each) for each in inner)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return True
    if not (isinstance(annotation, type) and dataclasses.is_dataclass(annotation)):
        return False
    hints = call_foreign(lambda: typing.get_type_hints(annotation)).value
    if hints is None:
        return False
    fields = [hints.get(each.name) for each in dataclasses.fields(annotation)]
    return all(each is not annotation and is_enumerable(each) for each in fields)


def open_parameters(signature: inspect.Signature) -> list[str]:
    """The parameters without a type."""
    parameters = signature.parameters.items()
    return [name for name, each in parameters if each.annotation in (_UNTYPED, typing.Any, object)]


def assumed(
    signature: inspect.Signature, works: Callable[[list[str]], bool]
) -> Iterator[tuple[inspect.Signature, dict[str, str]]]:
    """The signature with types for the parameters without one, if calls with samples work.

    Args:
        signature: The signature of the function.
        works: Whether calls with these arguments, as text, end without an error of a wrong type.
    """
    names = open_parameters(signature)
    defaults = [type(signature.parameters[name].default) for name in names]
    fixed = [kind if kind in _KNOWN[:-1] else None for kind in defaults]
    uniform = [tuple(one or kind for one in fixed) for kind in _SAMPLES]
    mixed = itertools.product(*[(one,) if one else tuple(_SAMPLES) for one in fixed])
    for kinds in itertools.islice(
        list(dict.fromkeys((*uniform, *itertools.islice(mixed, _MOST_COMBINATIONS)))),
        _MOST_COMBINATIONS,
    ):
        kind_by_name = dict(zip(names, kinds, strict=True))
        parameters = [
            each.replace(annotation=kind_by_name.get(name, each.annotation))
            for name, each in signature.parameters.items()
        ]
        typed = signature.replace(parameters=parameters)
        if works(_calls(typed, names)):
            yield (
                typed,
                {
                    name: (
                        kind.__name__
                        if isinstance(kind, type) and not typing.get_args(kind)
                        else str(kind)
                    )
                    for name, kind in kind_by_name.items()
                },
            )


# Calls with samples; none if a parameter has an annotated type without samples.
def _calls(signature: inspect.Signature, guessed: list[str]) -> list[str]:
    parameters = signature.parameters.items()
    if any(each.annotation not in _SAMPLES for name, each in parameters if name not in guessed):
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    calls = []
    for which in range(3):
        parts = []
        for name, each in parameters:
            sample = _SAMPLES.get(each.annotation, ("True", "False", "True"))[which]
            parts.append(sample if each.kind in plain else f"{name}={sample}")
        calls.append(", ".join(parts))
    return calls


def samples(signature: inspect.Signature, tree: ast.AST) -> list[str]:
    """The arguments of calls, as text; none if a type has no plain values."""
    # The constants in the code by their types, and the numbers next to them.
    found: Literals = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in _OFTEN and node.value is not None:
            values = found.setdefault(type(node.value), [])
            values.append(node.value)
            if type(node.value) is int:
                values += [node.value + 1, node.value - 1]
    most = _MOST_VALUES // 2
    named = {kind: list(dict.fromkeys(values))[:most] for kind, values in found.items()}
    columns: list[list[str]] = []
    for name, each in signature.parameters.items():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            columns.append(_any_number(each, named, set(signature.parameters)))
            continue
        values = list(itertools.islice(_values(each.annotation, named), _MOST_VALUES))
        if not values:
            return []
        prefix = f"{name}=" if each.kind is each.KEYWORD_ONLY else ""
        columns.append([f"{prefix}{value}" for value in values])
    return [", ".join(filter(None, row)) for row in itertools.islice(_rows(columns), _MOST_CALLS)]


# None, one and several arguments: by position, or with names that the code has.
def _any_number(parameter: inspect.Parameter, named: Literals, used_names: set[str]) -> list[str]:
    values = list(itertools.islice(_values(parameter.annotation, named), _MOST_VALUES)) or ["0"]
    if parameter.kind is parameter.VAR_POSITIONAL:
        return ["", *values, *(", ".join(values[:number]) for number in range(2, len(values)))]
    unusable = {*used_names, *keyword.kwlist}
    words = map(str, dict.fromkeys((*named.get(str, ()), "a", "b")))
    names = [one for one in words if one.isidentifier() and one not in unusable]
    each = [f"{name}={value}" for value in values[:2] for name in names]
    return ["", *each, ", ".join(f"{name}={values[0]}" for name in names)]


# Each value once together with the others, then combinations.
def _rows(columns: list[list[str]]) -> Iterator[tuple[str, ...]]:
    longest = max(map(len, columns), default=1)
    cycled = [list(itertools.islice(itertools.cycle(each), longest)) for each in columns]
    yield from zip(*cycled, strict=True) if columns else [()]
    yield from itertools.product(*columns) if len(columns) > 1 else ()


def _values(annotation: object, named: Literals) -> Iterator[str]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None:
        annotation = type(None)
    if annotation in _OFTEN:
        often = (*named.get(annotation, ()), *_OFTEN[annotation])
        yield from dict.fromkeys(map(repr, often))
    elif origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from itertools.islice(_values(each, named), _MOST_VALUES // 2)
    elif origin is list and arguments:
        inner = list(itertools.islice(_values(arguments[0], named), _MOST_VALUES))
        yield "[]"
        yield from (f"[{one}]" for one in inner)
        yield from (f"[{one}, {other}]" for one, other in itertools.pairwise(inner))
