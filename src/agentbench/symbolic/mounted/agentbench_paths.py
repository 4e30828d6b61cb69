"""Explores the paths of two functions at once with crosshair, for inputs on which they part.

Both are loaded into this one process: the other's module beside the reference's, with the
reference's neighbours. What is found is a candidate, to be run in the trees themselves.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentbench_alarm import Alarm, OverError

_MOST = 20  # candidates
_OF_THE_SEARCH = (RecursionError, MemoryError)  # it has less room for them than a call has
_TYPES = {"int": int, "str": str, "float": float, "bool": bool, "bytes": bytes, "none": type(None)}


class NotSymbolicError(Exception):
    """A parameter is of a type that is not made of symbols here."""


def kind_of(wanted: dict[str, Any]) -> Any:
    """The annotation for a described type.

    Raises:
        NotSymbolicError: there is none.
    """
    kind = wanted["t"]
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in ("list", "set", "frozenset"):
        whole = {"list": list, "set": set, "frozenset": frozenset}[kind]
        return whole[kind_of(wanted["of"]) if wanted["of"]["t"] != "missing" else int]
    if kind == "tuple":
        return tuple[kind_of(wanted["of"]), ...]
    if kind == "row":
        return tuple[tuple(kind_of(one) for one in wanted["of"])]
    if kind == "dict":
        return dict[kind_of(wanted["keys"]), kind_of(wanted["values"])]
    if kind == "union":
        found = kind_of(wanted["of"][0])
        for one in wanted["of"][1:]:
            found = found | kind_of(one)
        return found
    raise NotSymbolicError(f"no symbols for a parameter of type {wanted.get('name', kind)}")


def load(pair: dict[str, Any]) -> tuple[Any, Any]:
    """Both functions."""
    left, right = pair["left"], pair["right"]
    sys.path[:0] = left["paths"]
    module = importlib.import_module(left["module"])
    if left["paths"] == right["paths"]:
        other = importlib.import_module(right["module"])
    else:
        other = _beside(module, right)
    return _named(module, left["name"]), _named(other, right["name"])


def _beside(module: Any, right: dict[str, Any]) -> Any:
    """The other tree's module, under a name of its own in the reference's package."""
    relative = Path(*right["module"].split("."))
    files = [
        Path(path) / tail
        for path in right["paths"]
        for tail in (f"{relative}.py", relative / "__init__.py")
    ]
    file = next(one for one in files if one.is_file())
    spec = importlib.util.spec_from_file_location(f"{right['module']}__other", file)
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    other.__package__ = module.__package__
    sys.modules[spec.name] = other
    spec.loader.exec_module(other)
    return other


def _named(found: Any, name: str) -> Any:
    for part in name.split("."):
        found = getattr(found, part)
    return found


def explore(asked: dict[str, Any]) -> dict[str, Any]:
    """Search until all paths were seen or the time is over."""
    from crosshair import core_and_libs  # noqa: F401 - registers the library's models
    from crosshair.options import DEFAULT_OPTIONS

    described = asked["described"]["params"]
    if any(one["how"] in ("many", "any_name") for one in described):
        return {"why": "it takes any number of arguments"}
    try:
        kinds = {one["name"]: kind_of(one["type"]) for one in described}
    except NotSymbolicError as error:
        return {"why": str(error)}
    left, right = load(asked["pair"])
    if any(map(_is_drawn_out, (left, right))):
        return {"why": "what it returns is awaited, or made one by one"}
    how = {"name": inspect.Parameter.KEYWORD_ONLY}
    parameters = [
        inspect.Parameter(
            one["name"],
            how.get(one["how"], inspect.Parameter.POSITIONAL_OR_KEYWORD),
            annotation=kinds[one["name"]],
        )
        for one in described
    ]
    options = DEFAULT_OPTIONS.overlay(
        per_condition_timeout=asked["seconds"],
        per_path_timeout=max(asked["seconds"] / 8, 0.5),
        max_uninteresting_iterations=2000,
        max_iterations=5000,
    )
    options.stats = Counter()
    return _search(left, right, inspect.Signature(parameters), options)


def _is_drawn_out(function: Any) -> bool:
    plain = inspect.unwrap(function)
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    return any(is_one(plain) for is_one in kinds)


def _search(left: Any, right: Any, signature: inspect.Signature, options: Any) -> dict[str, Any]:
    from crosshair.behavior_compare import flexible_equal
    from crosshair.copyext import CopyMode, deepcopyext
    from crosshair.core import ExceptionFilter, deep_realize, explore_paths
    from crosshair.diff_behavior import describe_behavior
    from crosshair.statespace import RootNode
    from crosshair.tracers import NoTracing

    found: list[list[str]] = []
    whole = Counter()

    def both(arguments: inspect.BoundArguments) -> Any:
        with NoTracing():
            second = deepcopyext(arguments, CopyMode.REGULAR, {})
        return describe_behavior(left, arguments), describe_behavior(right, second), second

    def ended(space: Any, before: Any, first: Any, ran: Any, _error: Any, _stack: Any) -> bool:
        if ran is None:
            return False
        with ExceptionFilter():
            (one, one_error), (other, other_error), second = ran
            alike = (
                type(one_error) is type(other_error)
                and flexible_equal(one, other)
                and flexible_equal(first.arguments, second.arguments)
            )
            space.detach_path()
            if alike:
                whole["alike"] += 1
                return False
            texts = {name: repr(deep_realize(value)) for name, value in before.arguments.items()}
            found.append(_program(signature, texts))
        return len(found) >= _MOST

    alarm = Alarm()
    with suppress(OverError):  # a single path may take all of the time, and more
        alarm.set(options.per_condition_timeout)
        explore_paths(both, signature, options, RootNode(), ended, on_nondeterminism=lambda: None)
    alarm.off()
    paths = options.stats["num_paths"]
    exhausted = not alarm.rang and options.stats["exhaustion"] > 0 and whole["alike"] == paths
    return {"programs": found, "paths": paths, "exhausted": exhausted}


def _program(signature: inspect.Signature, texts: dict[str, str]) -> list[str]:
    program, arguments = [], []
    for at, (name, text) in enumerate(texts.items()):
        ast.parse(text, mode="eval")
        if text[:1] in "[{":
            program.append(f"arg{at} = {text}")
            text = f"arg{at}"
        named = signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        arguments.append(f"{name}={text}" if named else text)
    return [*program, f"__this__({', '.join(arguments)})"]


def main() -> None:
    """Answer the question on stdin; what the functions print goes nowhere."""
    asked = json.loads(sys.stdin.read())
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    sys.path[len(sys.path) :] = sys.argv[1:2]
    try:
        said = explore(asked)
    except Exception as error:  # noqa: BLE001 - whatever the functions and crosshair come to
        said = {"why": f"{type(error).__name__}: {error}"[:300]}
    os.write(answers, json.dumps(said).encode())


if __name__ == "__main__":
    main()
    os._exit(0)
