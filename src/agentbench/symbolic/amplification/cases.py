"""Of a parametrised test, one case: a changed test is run once."""

import ast
from random import Random

Function = ast.FunctionDef | ast.AsyncFunctionDef
_NAMES_AND_CASES = 2  # arguments


def with_one_case(function: Function, random: Random) -> None:
    """Leave one case, drawn at random, where cases are written down in the decorator."""
    for decorator in function.decorator_list:
        cases = cases_of(decorator)
        if cases is not None and len(cases.elts) > 1:
            cases.elts[:] = [random.choice(cases.elts)]
        if cases is not None and isinstance(decorator, ast.Call):
            decorator.keywords[:] = [one for one in decorator.keywords if one.arg != "ids"]


def cases_of(decorator: ast.expr) -> ast.List | ast.Tuple | None:
    """The cases that a decorator writes down; None where it is another one."""
    if not isinstance(decorator, ast.Call) or len(decorator.args) < _NAMES_AND_CASES:
        return None
    name = getattr(decorator.func, "attr", "")
    cases = decorator.args[1]
    return cases if name == "parametrize" and isinstance(cases, ast.List | ast.Tuple) else None


def names_of(decorator: ast.Call) -> tuple[str, ...]:
    """The parameters that the cases are for, as far as they are written down."""
    names = decorator.args[0]
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        return tuple(name.strip() for name in names.value.split(","))
    if isinstance(names, ast.Tuple | ast.List):
        return tuple(str(one.value) for one in names.elts if isinstance(one, ast.Constant))
    return ()
