"""Runs programs in one tree: reads a request a line from stdin, writes an answer a line.

What the tree's code prints goes nowhere: the answers leave by a descriptor that it does not know.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from agentbench_effects import Effects, states
from agentbench_outcome import RAISES, RETURNS, TIMEOUT
from agentbench_raised import is_meant
from agentbench_types import constants_of, describe
from agentbench_values import Form, form_of, text_of

sys.path.pop(0)

THIS = "__this__"
_ANSWER_BYTES = 1_000_000
_FIRST = 200  # items of an iterator


class OutOfTimeError(BaseException):
    """The call's time is over; no `except Exception` of the tree's code catches it."""


class Tree:
    """The tree that is first on the path, and the callable in question."""

    def __init__(self, paths: list[str], module: str | None, name: str | None) -> None:
        """Load it.

        Raises:
            BaseException: whatever its import raises.
        """
        sys.path[:0] = paths
        self.paths = tuple(paths)
        self.this: Any = None
        self.method: str | None = None
        self.module: Any = None
        self._effects = Effects()
        if module is not None and name is not None:
            self.module = importlib.import_module(module)
            self._find(self.module, name.split("."))

    def _find(self, found: Any, names: list[str]) -> None:
        for at, name in enumerate(names):
            if isinstance(found, type) and at == len(names) - 1:
                inner = getattr(found, name)
                if not isinstance(inner, type):
                    self.this, self.method = found, name
                    return
            found = getattr(found, name)
        self.this = found

    def run(self, program: list[str], seconds: float) -> dict[str, Any]:
        """Run statement by statement; the first that does not end ends it all."""
        names: dict[str, Any] = {THIS: self.this, "__name__": "program"}
        steps, before = [], states(self.module)
        arguments: dict[str, Form] = {}
        for statement in program:
            steps.append(step := self._step(statement, names, seconds))
            if step["kind"] == TIMEOUT:
                break
            for name in names.keys() - arguments.keys():
                if _is_changeable(name, names):
                    arguments[name] = self._state(name, names, seconds)["form"]
        after = self._after(names, arguments, seconds)
        return {"steps": steps, "after": {**after, **_changed(before, states(self.module))}}

    def _step(self, statement: str, names: dict[str, Any], seconds: float) -> dict[str, Any]:
        began = time.perf_counter()
        beside: dict[str, Any] = {}
        try:
            with self._effects.watched(beside):
                signal.setitimer(signal.ITIMER_REAL, seconds)
                try:
                    said = _did(statement, names)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
        except OutOfTimeError:
            return {"kind": TIMEOUT, "seconds": seconds}
        except BaseException as error:  # noqa: BLE001 - SystemExit is an outcome like the others
            said = self._raised(error)
        return {**said, **beside, "seconds": time.perf_counter() - began}

    def _raised(self, error: BaseException) -> dict[str, Any]:
        kind = type(error)
        mro = [
            one.__name__ for one in kind.__mro__ if one not in (Exception, BaseException, object)
        ]
        meant = is_meant(error, self.paths)
        text = f"{kind.__name__}: {text_of_error(error)}"
        return {"kind": RAISES, "type": kind.__name__, "mro": mro, "explicit": meant, "text": text}

    def _after(
        self, names: dict[str, Any], before: dict[str, Form], seconds: float
    ) -> dict[str, Any]:
        """What became of arguments that a call can change."""
        forms = {name: self._state(name, names, seconds) for name in before}
        return {
            name: {**state, "changed": state["form"] != before[name]}
            for name, state in forms.items()
        }

    def _state(self, name: str, names: dict[str, Any], seconds: float) -> dict[str, Any]:
        step = self._step(name, names, seconds)
        return {"form": step.get("form", ["cut"]), "text": step.get("text", "")}


def _is_changeable(name: str, names: dict[str, Any]) -> bool:
    return name.startswith("arg") and isinstance(names[name], (list, dict, set, bytearray))


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The variables of a module that a program has changed."""
    return {
        name: {"form": form, "text": f"{name} as {text}", "changed": True}
        for name, (form, text) in after.items()
        if name not in before or before[name][0] != form
    }


def text_of_error(error: BaseException) -> str:
    """Its message, whatever its own `__str__` does."""
    try:
        return str(error)[:160]
    except Exception:  # noqa: BLE001 - it is the agent's code that raises
        return "…"


def _did(statement: str, names: dict[str, Any]) -> dict[str, Any]:
    parsed = ast.parse(statement)
    (only,) = parsed.body
    if not isinstance(only, ast.Expr):
        exec(compile(parsed, "<program>", "exec"), names)
        return {"kind": RETURNS, "form": ["none"], "text": "None", "preparing": True}
    value = eval(compile(ast.Expression(only.value), "<program>", "eval"), names)
    if inspect.iscoroutine(value) or hasattr(value, "__anext__"):
        value = _awaited(value)
    if hasattr(value, "__next__"):
        value = list(_first(value))
        return {
            "kind": RETURNS,
            "form": ["items", "iterator", form_of(value)[2]],
            "text": text_of(value),
        }
    return {"kind": RETURNS, "form": form_of(value), "text": text_of(value)}


def _awaited(value: Any) -> Any:
    """What a coroutine comes to, or the first items of an asynchronous generator."""
    import asyncio

    async def items() -> Any:
        found: list[Any] = []
        async for item in value:
            found.append(item)
            if len(found) == _FIRST:
                break
        return iter(found)

    return asyncio.run(value if inspect.iscoroutine(value) else items())


def _first(values: Any) -> Any:
    for at, value in enumerate(values):
        if at >= _FIRST:
            return
        yield value


def ring(_signal: int, _frame: Any) -> None:
    """The time is over."""
    raise OutOfTimeError


def quiet() -> int:
    """Turn stdin, stdout and stderr away; returns the descriptor for answers."""
    answers = os.dup(1)
    os.set_inheritable(answers, False)  # noqa: FBT003 - its one argument
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return answers


def _answer(tree: Tree, asked: dict[str, Any]) -> dict[str, Any]:
    if asked["do"] == "describe":
        found = describe(tree.this, tree.method)
        return {**found, "constants": constants_of(found["sources"])}
    return tree.run(asked["program"], asked["seconds"])


def main() -> None:
    """Serve until stdin ends. The first line says what to load."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(quiet(), "w", encoding="utf-8")
    signal.signal(signal.SIGALRM, ring)
    tree: Tree | None = None
    for line in requests:
        asked = json.loads(line)
        try:
            if tree is None:
                tree, said = Tree(asked["paths"], asked["module"], asked["name"]), {"loaded": True}
            else:
                said = _answer(tree, asked)
        except BaseException as error:  # noqa: BLE001 - an import may raise anything
            said = {"error": f"{type(error).__name__}: {text_of_error(error)}"}
        text = json.dumps(said)
        answers.write((text if len(text) < _ANSWER_BYTES else '{"error": "too large"}') + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
