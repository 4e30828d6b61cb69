"""Plain inputs for a function: what its code names, what is next to it, and what often matters.

A search follows a model of Python. Before nothing is said to be found, these are really tried.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import keyword
import types
import typing
from collections.abc import Iterator

_MOST = 60
_EACH = 12  # values of one type
_OFTEN: dict[object, tuple[object, ...]] = {
    int: (0, 1, -1, 2, 10, 100, 2**31, -(2**63), 10**18),
    str: ("", "a", "A b", "0", "é", "\x00", "ǆ", "\n", "²"),
    float: (0.0, -1.5, 0.1, 1e308, -0.0, 1e-320),
    bool: (True, False),
    bytes: (b"", b"a", b"\xff\x00"),
    type(None): (None,),
}


def samples(signature: inspect.Signature, tree: ast.AST) -> list[str]:
    """The arguments of calls, as text; none where a type has no plain values."""
    named = _literals(tree)
    columns = []
    for name, each in signature.parameters.items():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            columns.append(_any_number(each, named, set(signature.parameters)))
            continue
        values = list(itertools.islice(_values(each.annotation, named), _EACH))
        if not values:
            return []
        prefix = f"{name}=" if each.kind is each.KEYWORD_ONLY else ""
        columns.append([f"{prefix}{value}" for value in values])
    return [", ".join(filter(None, row)) for row in itertools.islice(_rows(columns), _MOST)]


def _any_number(
    parameter: inspect.Parameter, named: dict[type, list[object]], taken: set[str]
) -> list[str]:
    """None, one and several arguments: by position, or with names that the code speaks of."""
    values = list(itertools.islice(_values(parameter.annotation, named), _EACH)) or ["0"]
    if parameter.kind is parameter.VAR_POSITIONAL:
        return ["", *values, *(", ".join(values[:number]) for number in range(2, len(values)))]
    words = dict.fromkeys((*named.get(str, ()), "a", "b"))
    names = [one for one in map(str, words) if _is_name(one) and one not in taken]
    each = [f"{name}={value}" for value in values[:2] for name in names]
    return ["", *each, ", ".join(f"{name}={values[0]}" for name in names)]


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _rows(columns: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """Each value once in step with the others, then combinations."""
    longest = max(map(len, columns), default=1)
    cycled = [list(itertools.islice(itertools.cycle(each), longest)) for each in columns]
    yield from zip(*cycled, strict=True) if columns else [()]
    yield from itertools.product(*columns) if len(columns) > 1 else ()


def _values(annotation: object, named: dict[type, list[object]]) -> Iterator[str]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None:
        annotation = type(None)
    if annotation in _OFTEN:
        often = (*named.get(annotation, ()), *_OFTEN[annotation])
        yield from dict.fromkeys(map(_text, often))
    elif origin in (typing.Union, types.UnionType):
        parts = [list(itertools.islice(_values(each, named), _EACH // 2)) for each in arguments]
        yield from itertools.chain.from_iterable(parts)
    elif origin is list and arguments:
        inner = list(itertools.islice(_values(arguments[0], named), _EACH))
        yield "[]"
        yield from (f"[{one}]" for one in inner)
        yield from (f"[{one}, {other}]" for one, other in itertools.pairwise(inner))


def _text(value: object) -> str:
    return repr(value)


def _literals(tree: ast.AST) -> dict[type, list[object]]:
    """The constants in the code by their types, and the numbers next to them."""
    found: dict[type, list[object]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in _OFTEN and node.value is not None:
            value, kind = node.value, type(node.value)
            near = [value, value + 1, value - 1] if kind is int else [value]
            found.setdefault(kind, []).extend(near)
    return {kind: list(dict.fromkeys(values))[: _EACH // 2] for kind, values in found.items()}
