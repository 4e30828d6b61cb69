"""Runs programs in one tree: reads a request a line from stdin, writes an answer a line.

What the tree's code prints goes nowhere: the answers leave by a descriptor that it does not know.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from agentbench_outcome import RAISES, RETURNS, TIMEOUT
from agentbench_raised import is_meant
from agentbench_types import constants_of, describe
from agentbench_values import form_of, text_of

sys.path.pop(0)

THIS = "__this__"
_ANSWER_BYTES = 1_000_000


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
        if module is not None and name is not None:
            self._find(importlib.import_module(module), name.split("."))

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
        steps = []
        for statement in program:
            steps.append(step := self._step(statement, names, seconds))
            if step["kind"] == TIMEOUT:
                break
        return {"steps": steps, "after": self._after(names, seconds)}

    def _step(self, statement: str, names: dict[str, Any], seconds: float) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                said = _did(statement, names)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except OutOfTimeError:
            return {"kind": TIMEOUT, "seconds": seconds}
        except BaseException as error:  # noqa: BLE001 - SystemExit is an outcome like the others
            said = self._raised(error)
        return {**said, "seconds": time.perf_counter() - began}

    def _raised(self, error: BaseException) -> dict[str, Any]:
        kind = type(error)
        mro = [
            one.__name__ for one in kind.__mro__ if one not in (Exception, BaseException, object)
        ]
        meant = is_meant(error, self.paths)
        text = f"{kind.__name__}: {text_of_error(error)}"
        return {"kind": RAISES, "type": kind.__name__, "mro": mro, "explicit": meant, "text": text}

    def _after(self, names: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What became of arguments that a call can change."""
        forms = {}
        for name, value in names.items():
            if name.startswith("arg") and isinstance(value, (list, dict, set, bytearray)):
                step = self._step(name, names, seconds)
                forms[name] = {"form": step.get("form", ["cut"]), "text": step.get("text", "")}
        return forms


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
        return {"kind": RETURNS, "form": ["none"], "text": "None"}
    value = eval(compile(ast.Expression(only.value), "<program>", "eval"), names)
    if hasattr(value, "__next__"):
        value = list(_first(value))
        return {
            "kind": RETURNS,
            "form": ["items", "iterator", form_of(value)[2]],
            "text": text_of(value),
        }
    return {"kind": RETURNS, "form": form_of(value), "text": text_of(value)}


def _first(values: Any) -> Any:
    for at, value in enumerate(values):
        if at >= 200:
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
