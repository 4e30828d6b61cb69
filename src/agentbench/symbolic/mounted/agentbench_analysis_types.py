"""Which types a function's parameters have: as annotated, or as calls with samples let assume."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Iterator

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
_MOST_TRIED = 40
_NAMELESS = inspect.Parameter.empty


def is_enumerable(annotation: object) -> bool:
    """Whether all values of a type are within a search's reach: none of it is left open."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _KNOWN or origin is typing.Literal:
        return True
    if origin in (*_CONTAINERS, typing.Union, types.UnionType, typing.Annotated):
        inner = arguments[:1] if origin is typing.Annotated else arguments
        return bool(inner) and all(each is Ellipsis or is_enumerable(each) for each in inner)
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, enum.Enum):
        return True
    return dataclasses.is_dataclass(annotation) and _fields_are(annotation)


def _fields_are(kind: type) -> bool:
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # noqa: BLE001 - of the code's own making
        return False
    named = [hints.get(each.name) for each in dataclasses.fields(kind)]
    return all(each is not kind and is_enumerable(each) for each in named)


def open_parameters(signature: inspect.Signature) -> list[str]:
    """The parameters whose types say nothing."""
    return [
        name
        for name, each in signature.parameters.items()
        if each.annotation in (_NAMELESS, typing.Any, object)
    ]


def assumed(
    signature: inspect.Signature, works: Callable[[list[str]], bool]
) -> Iterator[tuple[inspect.Signature, dict[str, str]]]:
    """The signature with types for the parameters that have none, as far as samples fit them.

    Args:
        signature: The function's.
        works: Whether calls with these arguments, as text, end without a sign of a wrong type.
    """
    nameless = open_parameters(signature)
    for kinds in itertools.islice(_choices(signature, nameless), _MOST_TRIED):
        given = dict(zip(nameless, kinds, strict=True))
        parameters = [
            each.replace(annotation=given.get(name, each.annotation))
            for name, each in signature.parameters.items()
        ]
        if works(_calls(signature, given)):
            told = {name: _name(kind) for name, kind in given.items()}
            yield signature.replace(parameters=parameters), told


def _choices(signature: inspect.Signature, names: list[str]) -> Iterator[tuple[object, ...]]:
    """Types for each, those first that are all alike."""
    fixed = [_of_default(signature.parameters[name]) for name in names]
    alike = [tuple(kept or kind for kept in fixed) for kind in _SAMPLES]
    mixed = itertools.product(*[(kept,) if kept else tuple(_SAMPLES) for kept in fixed])
    return iter(dict.fromkeys((*alike, *itertools.islice(mixed, _MOST_TRIED))))


def _of_default(parameter: inspect.Parameter) -> object:
    kind = type(parameter.default)
    return kind if kind in _KNOWN[:-1] and parameter.default is not _NAMELESS else None


def _calls(signature: inspect.Signature, given: dict[str, object]) -> list[str]:
    """Some calls with samples; of parameters that say their types themselves, none is tried."""
    if any(name not in given for name in signature.parameters):
        typed = {
            name: each.annotation
            for name, each in signature.parameters.items()
            if each.annotation in _SAMPLES
        }
        given = {**typed, **given}
    kinds = inspect.Parameter
    plain = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    calls = []
    for which in range(3):
        parts = []
        for name, each in signature.parameters.items():
            if name not in given:
                return []
            sample = _SAMPLES.get(given[name], ("True", "False", "True"))[which]
            parts.append(sample if each.kind in plain else f"{name}={sample}")
        calls.append(", ".join(parts))
    return calls


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
