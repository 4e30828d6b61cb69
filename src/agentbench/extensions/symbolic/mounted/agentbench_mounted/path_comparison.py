"""Explores the paths of two functions with crosshair, for inputs on which they behave differently.

Both functions are loaded into one process: the other's module next to the reference's, with the
reference's neighbours. A result is a candidate, to be run in the trees themselves.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import operator
import os
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import messages
from .foreign_code import AGAIN, Alarm, OutOfTimeError, call_foreign
from .side_effects import discard_output
from .worker import THIS
from .worker_process import kill_group, start_program

if TYPE_CHECKING:
    from crosshair.options import AnalysisOptions
    from crosshair.statespace import StateSpace

    Function = Callable[..., object]

_LOADING = 2.0  # seconds that crosshair takes to be imported
_LEAST = 1.0  # second for a search
_MOST_PROGRAMS = 20
_SIMPLE = {"int": int, "str": str, "float": float, "bool": bool, "bytes": bytes, "none": type(None)}
_CONTAINERS = {"list": list, "set": set, "frozenset": frozenset}


def explore_in_process(
    pair: messages.Pair, described: messages.Description, seconds: float
) -> messages.PathFindings:
    """Explore paths in a process of its own, which is killed when its time is over."""
    if described["kind"] != "function":
        return {"why": "a method's object cannot be symbolic"}
    if seconds < _LEAST:
        return {"why": "no time was left"}
    request = {"pair": pair, "described": described, "seconds": max(seconds - _LOADING, _LEAST)}
    process = start_program("path_comparison", *sys.argv[2:3])
    try:
        answer, _ = process.communicate(json.dumps(request).encode(), seconds + 2 * _LOADING)
        found = json.loads(answer)
    except subprocess.TimeoutExpired:
        return {"why": "the search did not end in its time"}
    except (OSError, ValueError) as error:
        return {"why": f"the search gave no answer ({type(error).__name__})"}
    finally:
        kill_group(process)
        if process.stdout is not None:
            process.stdout.close()
    if not isinstance(found, dict):
        return {"why": "its answer is malformed"}
    return cast("messages.PathFindings", found)


def main() -> None:
    """Answer the request on stdin; output of the functions is discarded."""
    request = json.loads(sys.stdin.read())
    answers = discard_output()
    result = call_foreign(lambda: _explore(request))
    found = result.value
    if found is None:
        found = {"why": f"{type(result.error).__name__}: {result.error}"[:300]}
    os.write(answers, json.dumps(found).encode())
    os._exit(0)


class _NotSymbolicError(Exception):
    """A parameter's type has no symbolic values here."""


def _explore(request: messages.Json) -> messages.PathFindings:
    from crosshair import core_and_libs  # noqa: F401 - registers the library's models
    from crosshair.options import DEFAULT_OPTIONS

    params: list[messages.Parameter] = request["described"]["params"]
    if any(one["how"] in ("many", "any_name") for one in params):
        return {"why": "it takes any number of arguments"}
    try:
        parameters = [_symbolic_parameter(one) for one in params]
    except _NotSymbolicError as error:
        return {"why": str(error)}
    pair = request["pair"]
    left, right = pair["left"], pair["right"]
    sys.path[:0] = left["paths"]
    module = importlib.import_module(str(left["module"]))
    if left["paths"] == right["paths"]:
        other = importlib.import_module(str(right["module"]))
    else:
        other = _load_next_to(module, right)
    functions = _attribute(module, left), _attribute(other, right)
    if any(map(_is_lazy, functions)):
        return {"why": "its result is awaited, or made item by item"}
    options = DEFAULT_OPTIONS.overlay(
        per_condition_timeout=request["seconds"],
        per_path_timeout=max(request["seconds"] / 8, 0.5),
        max_uninteresting_iterations=2000,
        max_iterations=5000,
    )
    options.stats = Counter()
    return _search(functions, inspect.Signature(parameters), options)


def _symbolic_parameter(one: messages.Parameter) -> inspect.Parameter:
    kinds = inspect.Parameter
    kind = kinds.KEYWORD_ONLY if one["how"] == "name" else kinds.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(one["name"], kind, annotation=_annotation_of(one["type"]))


def _annotation_of(description: messages.TypeDescription) -> object:
    """The annotation for a described type; raises _NotSymbolicError."""
    kind = description["t"]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind in _CONTAINERS:
        item = int if description["of"]["t"] == "missing" else _annotation_of(description["of"])
        return types.GenericAlias(_CONTAINERS[kind], (item,))
    if kind == "tuple":
        return types.GenericAlias(tuple, (_annotation_of(description["of"]), ...))
    if kind == "row":
        return types.GenericAlias(tuple, tuple(map(_annotation_of, description["of"])))
    if kind == "dict":
        items = _annotation_of(description["keys"]), _annotation_of(description["values"])
        return types.GenericAlias(dict, items)
    if kind == "union":
        return functools.reduce(operator.or_, map(_annotation_of, description["of"]))
    raise _NotSymbolicError(f"no symbolic values of type {description.get('name', kind)}")


# The other tree's module, under a name of its own in the reference's package.
def _load_next_to(module: types.ModuleType, right: messages.Location) -> types.ModuleType:
    relative = Path(*str(right["module"]).split("."))
    tails = f"{relative}.py", relative / "__init__.py"
    files = [Path(path) / tail for path in right["paths"] for tail in tails]
    file = next(one for one in files if one.is_file())
    spec = importlib.util.spec_from_file_location(f"{right['module']}__other", file)
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    other.__package__ = module.__package__
    sys.modules[spec.name] = other
    spec.loader.exec_module(other)
    return other


def _attribute(module: types.ModuleType, location: messages.Location) -> Function:
    function: Function = operator.attrgetter(str(location["name"]))(module)
    return function


def _is_lazy(function: Function) -> bool:
    plain = inspect.unwrap(function)
    checks = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    return any(check(plain) for check in checks)


def _search(
    functions: tuple[Function, Function], signature: inspect.Signature, options: AnalysisOptions
) -> messages.PathFindings:
    from crosshair.behavior_compare import flexible_equal
    from crosshair.copyext import CopyMode, deepcopyext
    from crosshair.core import ExceptionFilter, deep_realize, explore_paths
    from crosshair.diff_behavior import describe_behavior
    from crosshair.statespace import RootNode
    from crosshair.tracers import NoTracing

    left, right = functions
    found: list[list[str]] = []
    same_paths = 0

    def run_both(arguments: inspect.BoundArguments) -> object:
        with NoTracing():
            second = deepcopyext(arguments, CopyMode.REGULAR, {})
        return describe_behavior(left, arguments), describe_behavior(right, second), second

    def path_ended(
        space: StateSpace,
        before: inspect.BoundArguments,
        after: inspect.BoundArguments,
        ran: Any,
        _error: BaseException | None,
        _stack: object,
    ) -> bool:
        nonlocal same_paths
        if ran is None:
            return False
        with ExceptionFilter():
            (one, one_error), (other, other_error), second = ran
            is_same = (
                type(one_error) is type(other_error)
                and flexible_equal(one, other)
                and flexible_equal(after.arguments, second.arguments)
            )
            space.detach_path()
            if is_same:
                same_paths += 1
                return False
            texts = {name: repr(deep_realize(value)) for name, value in before.arguments.items()}
            program, arguments = [], []
            for at, (name, text) in enumerate(texts.items()):
                ast.parse(text, mode="eval")
                value = text
                if text[:1] in "[{":
                    program.append(f"arg{at} = {text}")
                    value = f"arg{at}"
                named = signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
                arguments.append(f"{name}={value}" if named else value)
            found.append([*program, f"{THIS}({', '.join(arguments)})"])
        return len(found) >= _MOST_PROGRAMS

    alarm = Alarm(repeat=AGAIN)
    with suppress(OutOfTimeError), alarm.within(options.per_condition_timeout):
        # A single path may take longer than all of the time.
        explore_paths(
            run_both, signature, options, RootNode(), path_ended, on_nondeterminism=lambda: None
        )
    assert options.stats is not None
    paths = options.stats["num_paths"]
    exhausted = not alarm.rang and options.stats["exhaustion"] > 0 and same_paths == paths
    return {"programs": found, "paths": paths, "exhausted": exhausted}
