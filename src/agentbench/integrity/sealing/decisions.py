"""Finds what decides the outcome of a test beside its assertions, and stays in a sealed file.

Code under test can read it there: in `if parse(x) != 61: pytest.fail()` no value is removed.
"""

import ast
from collections.abc import Sequence

from msgspec import Struct

from agentbench.integrity.sealing.levels import FileNames, Level, LevelReader
from agentbench.python_source.constants import NotConstant, evaluate
from agentbench.python_source.functions import FoundFunction
from agentbench.python_source.python_syntax import name_of

_DECIDES = "line {}: the test itself decides that it fails"
_COMPARES = "line {}: a comparison with its expected value stays in the test"
_PASSES_ON = "line {}: a function of another file gets an expected value"
_BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.TryStar, ast.Match, ast.BoolOp)
_TELLS_LITTLE: tuple[object, ...] = (None, True, False, 0, 1, -1, "", b"", (), [], {})


class DecisionReader(Struct, frozen=True, kw_only=True):
    """Reads one function of a sealed file."""

    names: FileNames
    owner: str

    def reason(self, function: FoundFunction) -> str | None:
        """Why the function is not sealed; None if it has only statements that are understood."""
        if (line := _decides(function.node.body)) is not None:
            return _DECIDES.format(line)
        for node in ast.walk(function.node):
            match node:
                case ast.Compare() if self._is_telling([node.left, *node.comparators]):
                    return _COMPARES.format(node.lineno)
                case ast.Expr(value=ast.Call(args=args, keywords=keywords) as call):
                    given = [*args, *(keyword.value for keyword in keywords)]
                    if self._is_foreign(call.func) and self._is_telling(given):
                        return _PASSES_ON.format(node.lineno)
                case _:
                    pass
        return None

    def _is_telling(self, sides: list[ast.expr]) -> bool:
        """Whether a value of the code under test meets a constant that tells something."""
        return any(map(self._is_tainted, sides)) and any(map(self._is_constant, sides))

    def _is_constant(self, node: ast.expr) -> bool:
        value = evaluate(node)
        return not isinstance(value, NotConstant) and value not in _TELLS_LITTLE

    def _is_tainted(self, node: ast.expr) -> bool:
        """Whether code under test may have computed a value, or a part of it."""
        names = self.names
        if LevelReader(names=names, owner=self.owner).level(node) is not Level.COMPUTED:
            return False
        for name in names.functions[self.owner].origins(node):
            owner, _ = key = names.key(name, self.owner)
            is_project = not owner and name in names.imported and name not in names.standard
            is_parameter = owner and key not in names.cells and self._is_parameter(name)
            if is_project or is_parameter:
                return True
        return False

    def _is_parameter(self, name: str) -> bool:
        scope = self.names.functions[self.owner]
        return name not in scope.derived_from and name not in scope.constants

    def _is_foreign(self, func: ast.expr) -> bool:
        while isinstance(func, ast.Attribute):
            func = func.value
        return isinstance(func, ast.Name) and func.id in self.names.foreign


def _decides(body: Sequence[ast.AST], *, depends: bool = False) -> int | None:
    """The line where a function itself fails, if that depends on what happened before."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue  # most likely an input of the test
            case ast.Raise(exc=ast.expr()) if depends:
                return node.lineno
            case ast.Call(func=func) if depends and name_of(func) == "fail":
                return node.lineno
            case _:
                pass
        is_branch = isinstance(
            node, ast.If | ast.IfExp | ast.Try | ast.TryStar | ast.Match | ast.BoolOp
        )
        children = list(ast.iter_child_nodes(node))
        line = _decides(children, depends=depends or is_branch)
        if line is not None:
            return line
    return None
