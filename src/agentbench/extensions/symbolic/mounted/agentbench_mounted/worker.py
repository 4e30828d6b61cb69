"""Runs programs in one tree: a request per line from stdin, an answer per line to stdout."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from types import ModuleType

from . import messages
from .descriptions import constants_of, describe
from .foreign_code import Alarm, OutOfTimeError, call_foreign, message_of
from .outcomes import RETURNS, TIMEOUT, raised, returned
from .side_effects import EffectRecorder, discard_output, module_variables

THIS = "__this__"  # the name by which a program calls the function or class in question
_ANSWER_BYTES = 1_000_000
_FIRST_ITEMS = 200  # of an iterator
_CHANGEABLE = (list, dict, set, bytearray)


class LoadedTree:
    """The tree that is first on the path, and the callable in question."""

    def __init__(self, paths: list[str], module: str | None, name: str | None) -> None:
        """Load it; raises any error of the tree's import.

        Raises:
            BaseException: any error of the tree's import.
        """
        sys.path[:0] = paths
        self.paths = tuple(paths)
        self.owner: object = None
        self.method: str | None = None
        self.module: ModuleType | None = None
        self._alarm, self._effects = Alarm(), EffectRecorder()
        if module is not None and name is not None:
            self.module = importlib.import_module(module)
            self._find(self.module, name.split("."))

    def _find(self, found: object, names: list[str]) -> None:
        for at, name in enumerate(names):
            inner = getattr(found, name)
            if isinstance(found, type) and at == len(names) - 1 and not isinstance(inner, type):
                self.owner, self.method = found, name
                return
            found = inner
        self.owner = found

    def run(self, program: list[str], seconds: float) -> messages.ProgramResult:
        """Run statement by statement; the first that does not end is the last one."""
        names: dict[str, object] = {THIS: self.owner, "__name__": "program"}
        steps: list[messages.Step] = []
        variables = module_variables(self.module)
        arguments: dict[str, messages.Form] = {}
        for statement in program:
            steps.append(self._step(statement, names, seconds))
            if steps[-1]["kind"] == TIMEOUT:
                break
            for name in names.keys() - arguments.keys():
                if name.startswith("arg") and isinstance(names[name], _CHANGEABLE):
                    arguments[name] = self._variable(name, names, seconds)["form"]
        after: dict[str, messages.Variable] = {}
        for name, before in arguments.items():
            after[name] = self._variable(name, names, seconds)
            after[name]["changed"] = after[name]["form"] != before
        for name, variable in module_variables(self.module).items():
            if name not in variables or variables[name]["form"] != variable["form"]:
                text = f"{name} as {variable['text']}"
                after[name] = {"form": variable["form"], "text": text, "changed": True}
        return {"steps": steps, "after": after}

    def _step(self, statement: str, names: dict[str, object], seconds: float) -> messages.Step:
        began = time.perf_counter()
        effects: messages.Step = {"kind": RETURNS}

        def execute() -> messages.Step:
            with self._effects.recording(effects), self._alarm.within(seconds):
                return _execute(statement, names)

        result = call_foreign(execute, catch=BaseException)  # SystemExit is an outcome, too
        if isinstance(result.error, OutOfTimeError):
            return {"kind": TIMEOUT, "seconds": seconds}
        step = result.value
        if step is None:
            assert result.error is not None
            step = raised(result.error, self.paths)
        return {**effects, **step, "seconds": time.perf_counter() - began}

    def _variable(self, name: str, names: dict[str, object], seconds: float) -> messages.Variable:
        step = self._step(name, names, seconds)
        return {"form": step.get("form", ["cut"]), "text": step.get("text", "")}


def _execute(statement: str, names: dict[str, object]) -> messages.Step:
    parsed = ast.parse(statement)
    (only,) = parsed.body
    if not isinstance(only, ast.Expr):
        exec(compile(parsed, "<program>", "exec"), names)
        return {**returned(None), "preparing": True}
    value = eval(compile(ast.Expression(only.value), "<program>", "eval"), names)
    if inspect.iscoroutine(value) or hasattr(value, "__anext__"):
        import asyncio  # takes as long as all the rest to import

        value = asyncio.run(value if inspect.iscoroutine(value) else _first_items(value))
    if hasattr(value, "__next__"):
        step = returned(list(itertools.islice(value, _FIRST_ITEMS)))
        return {**step, "form": ["items", "iterator", step["form"][2]]}
    return returned(value)


async def _first_items(values: AsyncGenerator[object, None]) -> Iterator[object]:
    items: list[object] = []
    async for item in values:
        items.append(item)
        if len(items) == _FIRST_ITEMS:
            break
    return iter(items)


def main() -> None:
    """Serve until stdin ends. The first line names the tree and the callable to load."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(discard_output(), "w", encoding="utf-8")
    tree: LoadedTree | None = None

    def answer_to(request: messages.Json) -> messages.Json:
        nonlocal tree
        if tree is None:
            tree = LoadedTree(request["paths"], request["module"], request["name"])
            return {"loaded": True}
        if request["do"] == "describe":
            found = describe(tree.owner, tree.method)
            return {**found, "constants": constants_of(found["sources"])}
        return {**tree.run(request["program"], request["seconds"])}

    for line in requests:
        request = json.loads(line)
        result = call_foreign(lambda: answer_to(request), catch=BaseException)  # noqa: B023 - called at once
        answer = result.value
        if result.error is not None:
            answer = {"error": f"{type(result.error).__name__}: {message_of(result.error)}"}
        text = json.dumps(answer)
        answers.write((text if len(text) < _ANSWER_BYTES else '{"error": "too large"}') + "\n")
        answers.flush()
