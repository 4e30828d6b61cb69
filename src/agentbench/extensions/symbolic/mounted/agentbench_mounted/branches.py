"""The branches of a function: marks in its code record which of them a call takes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "__agentbench_went__"  # the function that marked code calls with the number of a branch
_MAX_CONDITION = 120  # characters of a condition
_ENDING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Branch:
    """One way out of a branching statement."""

    line: int
    kind: str  # if, while, for, conditional, case, except
    condition: str
    taken: str  # "true", "false", "entered", "ended", "matched", "caught"


def mark_branches(tree: ast.Module, function: ast.FunctionDef) -> list[Branch]:
    """Mark a function within its module's tree; returns its branches, by their numbers."""
    marker = _Marker()
    for statement in function.body:
        marker.visit(statement)  # in place
    ast.fix_missing_locations(tree)
    return marker.branches


class _Marker(ast.NodeTransformer):
    """Marks the branches of one function in place, except those of functions within it."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []

    def visit(self, node: ast.AST) -> ast.AST:
        """Mark a node, unless it begins another function or class."""
        if isinstance(node, _INNER):
            return node
        marked: ast.AST = super().visit(node)
        return marked

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._fork(node, node.test, ("true", "false"))

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._fork(node, node.test, ("true", "false"))

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._fork(node, node.iter, ("entered", "ended"))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        true = self._number(node.lineno, "conditional", node.test, "true")
        false = self._number(node.lineno, "conditional", node.test, "false")
        node.body = ast.BoolOp(ast.Or(), [_call(true), node.body])
        node.orelse = ast.BoolOp(ast.Or(), [_call(false), node.orelse])
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        return self._enter(node, self._number(node.body[0].lineno, "case", node.pattern, "matched"))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        return self._enter(node, self._number(node.lineno, "except", node.type, "caught"))

    def _enter(self, node: ast.match_case | ast.ExceptHandler, number: int) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, _statement(number, node.body[0]))
        return node

    def _fork(
        self, node: ast.If | ast.While | ast.For, test: ast.expr, taken: tuple[str, str]
    ) -> ast.AST:
        kind = type(node).__name__.lower()
        first, second = (self._number(node.lineno, kind, test, each) for each in taken)
        self.generic_visit(node)
        node.body.insert(0, _statement(first, node.body[0]))
        node.orelse.insert(0, _statement(second, node.orelse[0] if node.orelse else node))
        return node

    def _number(self, line: int, kind: str, test: ast.AST | None, taken: str) -> int:
        text = "" if test is None else ast.unparse(test)
        condition = text if len(text) <= _MAX_CONDITION else f"{text[:_MAX_CONDITION]}..."
        self.branches.append(Branch(line=line, kind=kind, condition=condition, taken=taken))
        return len(self.branches) - 1


def _call(number: int) -> ast.Call:
    return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(number)], [])


def _statement(number: int, source_node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(_call(number)), source_node)


def complexity(function: ast.AST) -> int:
    """McCabe's number: one more than the number of decisions."""
    return 1 + sum(_decisions(node) for node in ast.walk(function))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, (ast.If, ast.While, ast.For, ast.IfExp, ast.ExceptHandler, ast.Assert)):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if not isinstance(node, ast.match_case):
        return 0
    matches_all = isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None
    return 0 if matches_all and not node.guard else 1


def lines_of(function: ast.FunctionDef) -> set[int]:
    """The lines of a function's statements that a tracer sees."""
    return {each.lineno for each in _statements(function.body) if _is_traced(each)}


def dead_by_form(function: ast.FunctionDef) -> set[int]:
    """The unreachable lines: they follow a return, raise, continue or break."""
    dead: set[int] = set()
    for node in ast.walk(function):
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(body, list):
                dead |= _after_an_end(body)
    return dead


def _after_an_end(body: list[ast.stmt]) -> set[int]:
    for index, each in enumerate(body):
        if isinstance(each, _ENDING):
            return {line.lineno for line in _statements(body[index + 1 :])}
    return set()


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for each in body:
        yield each
        if not isinstance(each, _INNER):
            inner = [node for node in ast.iter_child_nodes(each) if isinstance(node, ast.stmt)]
            cases = [*getattr(each, "handlers", []), *getattr(each, "cases", [])]
            yield from _statements([*inner, *(line for case in cases for line in case.body)])


def _is_traced(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)  # a docstring, ...
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    return not isinstance(node, (ast.Global, ast.Nonlocal, ast.Try))
