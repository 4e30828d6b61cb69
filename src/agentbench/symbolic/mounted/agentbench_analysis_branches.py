"""Where a function branches: marks put into its code say which ways are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "__agentbench_went__"
"""The function that marked code calls, with the number of the way."""

_SHOWN = 120
_ENDING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Way:
    """One way out of a branching."""

    line: int
    kind: str  # if, while, for, conditional, case, except
    condition: str
    taken: str  # "true", "false", "entered", "not entered", "matched", "caught"


class Marking(ast.NodeTransformer):
    """Marks the ways of one function, in place."""

    def __init__(self) -> None:
        self.ways: list[Way] = []
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The function itself; those within it are not looked into."""
        return self._outermost(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """One within it."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """One within it."""
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """One within it."""
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Both of its ways."""
        return self._fork(node, "if", node.test, ("true", "false"))

    def visit_While(self, node: ast.While) -> ast.AST:
        """Entered, and left by its condition."""
        return self._fork(node, "while", node.test, ("true", "false"))

    def visit_For(self, node: ast.For) -> ast.AST:
        """Entered, and left at its end."""
        return self._fork(node, "for", node.iter, ("entered", "ended"))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Both of its ways."""
        self.generic_visit(node)
        first, second = (
            self._way(node, "conditional", node.test, taken) for taken in ("true", "false")
        )
        node.body = ast.BoolOp(ast.Or(), [_call(first), node.body])
        node.orelse = ast.BoolOp(ast.Or(), [_call(second), node.orelse])
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """That it matched."""
        number = self._way(node.body[0], "case", node.pattern, "matched")
        self.generic_visit(node)
        node.body.insert(0, _statement(number, node.body[0]))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """That it caught."""
        number = self._way(node, "except", node.type, "caught")
        self.generic_visit(node)
        node.body.insert(0, _statement(number, node.body[0]))
        return node

    def _outermost(self, node: ast.FunctionDef) -> ast.AST:
        if self._depth:
            return node
        self._depth += 1
        node.body = [self.visit(each) for each in node.body]
        return node

    def _fork(self, node: ast.AST, kind: str, test: ast.AST, taken: tuple[str, str]) -> ast.AST:
        first, second = (self._way(node, kind, test, each) for each in taken)
        self.generic_visit(node)
        node.body.insert(0, _statement(first, node.body[0]))
        node.orelse.insert(0, _statement(second, node.orelse[0] if node.orelse else node))
        return node

    def _way(self, node: ast.AST, kind: str, test: ast.AST | None, taken: str) -> int:
        text = "" if test is None else ast.unparse(test)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        self.ways.append(Way(line=node.lineno, kind=kind, condition=shown, taken=taken))
        return len(self.ways) - 1


def _call(number: int) -> ast.Call:
    return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(number)], [])


def _statement(number: int, place: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Expr(_call(number)), place)


def mark(tree: ast.Module, function: ast.FunctionDef) -> list[Way]:
    """Mark a function within its module's tree; returns its ways, by their numbers."""
    marking = Marking()
    marking.visit(function)
    ast.fix_missing_locations(tree)
    return marking.ways


def complexity(function: ast.AST) -> int:
    """McCabe's number: one, and one for each decision."""
    return 1 + sum(_decisions(node) for node in ast.walk(function))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, (ast.If, ast.While, ast.For, ast.IfExp, ast.ExceptHandler, ast.Assert)):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, ast.match_case) and not _takes_all(node))


def _takes_all(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and not case.guard


def lines_of(function: ast.FunctionDef) -> set[int]:
    """The lines on which statements of a function begin that leave a trace when they run."""
    return {each.lineno for each in _statements(function.body) if _leaves_a_trace(each)}


def dead_by_form(function: ast.FunctionDef) -> set[int]:
    """The lines that nothing can reach: they follow a return, raise, continue or break."""
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


def _leaves_a_trace(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)  # a docstring, ...
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    return not isinstance(node, (ast.Global, ast.Nonlocal, ast.Try))
