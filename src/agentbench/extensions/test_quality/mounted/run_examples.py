# Runs pieces of code one after the other in one namespace; prints the outcome of each as JSON.
# It reads {"pieces": [...], "modules": [...]}. It runs in any Python from 3.6 on.
import ast
import builtins
import contextlib
import importlib
import io
import json
import re
import sys
from typing import Any, Dict, List

MOST_NAMES = 30  # missing names that are looked up for one piece
LONGEST = 4000  # characters of an outcome
# What people import these modules as.
SHORT = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "xr": "xarray"}


def found(name: str, modules: List[str]) -> Any:
    for known in modules:
        # A report of a session leaves the imports out; sympy's symbols are in `sympy.abc`.
        for module in (known, known + ".abc"):
            with contextlib.suppress(Exception):
                return getattr(importlib.import_module(module), name)
    return importlib.import_module(SHORT.get(name, name))


def run(piece: str, names: Dict[str, Any]) -> str:
    tree = ast.parse(piece)
    last = None
    end = tree.body[-1] if tree.body else None
    if isinstance(end, ast.Expr):
        tree.body.pop()
        last = compile(ast.Expression(end.value), "<example>", "eval")
    exec(compile(tree, "<example>", "exec"), names)
    value = eval(last, names) if last is not None else None
    return "" if value is None else repr(value)


def outcome(piece: str, names: Dict[str, Any], modules: List[str]) -> List[str]:
    for _ in range(MOST_NAMES):
        written = io.StringIO()
        try:
            with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
                value = run(piece, names)
            return ["value", (written.getvalue() + value)[:LONGEST]]
        except NameError as error:
            match = re.search(r"'(\w+)'", str(error))
            name = match.group(1) if match else ""
            if name in names or hasattr(builtins, name):
                return ["NameError", str(error)]
            try:
                names[name] = found(name, modules)
            except BaseException:
                return ["unknown", name]
        except BaseException as error:
            return [type(error).__name__, str(error)[:LONGEST]]
    return ["unknown", ""]


def main() -> None:
    question = json.load(sys.stdin)
    answers = sys.stdout
    names: Dict[str, Any] = {"__name__": "__main__"}
    for piece in question["pieces"]:
        answers.write(json.dumps(outcome(piece, names, question["modules"])) + "\n")
        answers.flush()


main()
