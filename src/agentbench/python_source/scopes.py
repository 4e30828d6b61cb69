"""The meanings of names in a test function, and the statements that every passing test runs."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agentbench.python_source.constants import Names, NotConstant, evaluate, is_immutable
from agentbench.python_source.python_syntax import name_of

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
UNCERTAIN = 3  # the doubt about a statement in a branch, above that of any expression
RAISING = frozenset(["raises", "assertRaises", "assertRaisesRegex", "assertRaisesMessage"])
"""Assertions that an exception is raised, as functions or in a `with`."""
LINE_MATCHERS = frozenset([
    "fnmatch_lines", "fnmatch_lines_random", "no_fnmatch_line",
    "re_match_lines", "re_match_lines_random", "no_re_match_line"
])  # fmt: skip
"""Assertions about lines of output, from pytest's own plugin for testing plugins."""
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameScope:
    """The names that a module or a function binds."""

    constants: Names
    """Names that are bound once, at the top of the scope, so that they are constant."""
    bound: Mapping[str, int]
    loads: Mapping[str, int]  # how often each name is read, also in nested functions
    compared: Mapping[str, int]
    """How often each name is read as a whole operand or argument of an assertion."""
    derived_from: Mapping[str, frozenset[str]]
    """The names that each name is derived from, by assignments and loops."""

    def origins(self, node: ast.expr) -> set[str]:
        """The names in an expression, and those that they are derived from."""
        found: set[str] = set()
        waiting = list(names_in(node))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.derived_from.get(name, ())
        return found


def module_scope(tree: ast.Module) -> NameScope:
    """The names of a module, including those that functions declare global."""
    bound = Counter(_bindings(own_nodes(tree.body)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            bound.update(node.names)
    return _scope(tree, tree.body, bound)


def function_scope(function: FunctionNode) -> NameScope:
    """The names of a function and of its nested functions, which may hide others."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    inside = (node for statement in function.body for node in ast.walk(statement))
    bound = Counter(argument.arg for argument in named)
    bound.update(_bindings(inside))
    return _scope(function, function.body, bound)


def lasting_constants(scope: NameScope, outer: Names | None = None) -> Names:
    """The constants that nothing mutates, so that every use may have a copy."""
    found: dict[str, ast.expr] = {}
    known = {**(outer or {}), **scope.constants}
    for name, node in scope.constants.items():
        value = evaluate(node, known)
        if isinstance(value, NotConstant):
            continue
        if is_immutable(value) or scope.loads[name] == scope.compared[name]:
            found[name] = node
    return found


def names_in(node: ast.AST) -> Iterator[str]:
    """The names in an expression, except those of which it only uses the length."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Call) and name_of(node.func) == "len":
        return  # a length does not depend on the values
    for child in ast.iter_child_nodes(node):
        yield from names_in(child)


def has_starred(nodes: Iterable[ast.expr]) -> bool:
    """Whether any expression is unpacked, so that the number of values is unknown."""
    return any(isinstance(node, ast.Starred) for node in nodes)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and their children, without the bodies of functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from own_nodes(ast.iter_child_nodes(node))


def _scope(node: ast.AST, body: Iterable[ast.stmt], bound: Counter[str]) -> NameScope:
    loads: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    origins_of: dict[str, set[str]] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            loads[child.id] += 1
        if isinstance(child, ast.Assert | ast.Call):
            compared.update(_compared(child))
        for name, origin in _derivations(child):
            origins_of.setdefault(name, set()).add(origin)
    pairs = (pair for statement in body for pair in assigned(statement))
    return NameScope(
        constants={name: value for name, value in pairs if bound[name] == 1},
        bound=bound,
        loads=loads,
        compared=compared,
        derived_from={name: frozenset(origins) for name, origins in origins_of.items()},
    )


def _derivations(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Pairs of a name and another one that it is derived from."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            targets = [target]
        case ast.NamedExpr(target=target, value=value) | ast.AugAssign(target=target, value=value):
            targets = [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target)) as value):
            targets = [target]
        case _:
            return
    for target in targets:
        for name in names_in(target):
            for other in names_in(value):
                yield name, other


def _bindings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names * 2  # also bound elsewhere
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case (
                ast.FunctionDef(name=str(name))
                | ast.AsyncFunctionDef(name=str(name))
                | ast.ClassDef(name=str(name))
                | ast.arg(arg=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name
            case _:
                pass


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement assigns, each with its value."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            if len(targets) == len(values) and not has_starred(values):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, ast.Name):
                        yield target.id, value
        case _:
            pass


def _compared(node: ast.AST) -> Iterator[str]:
    sides: list[ast.expr] = []
    match node:
        case ast.Assert(test=ast.Compare(left=left, comparators=comparators)):
            sides = [left, *comparators]
        case ast.Call(func=ast.Attribute(attr=name), args=sides) if (
            name.startswith("assert") or name in LINE_MATCHERS
        ):
            pass
    yield from (side.id for side in sides if isinstance(side, ast.Name))


def statements(body: Sequence[ast.stmt], doubt: int = 0) -> Iterator[tuple[ast.stmt, int]]:
    """Each statement with a doubt: 0 if it runs, 1 if it most likely runs, `UNCERTAIN` in a branch.

    Statements where an error is expected or swallowed are left out: they may not be reached, and a
    failing assertion there may be taken for the error.
    """
    for statement in body:
        yield statement, doubt
        yield from _within(statement, doubt)
        if isinstance(statement, _ENDS):
            return
        if any(isinstance(node, ast.Return) for node in own_nodes([statement])):
            doubt = max(doubt, UNCERTAIN)  # the following statements may not run


def _within(node: ast.stmt, doubt: int) -> Iterator[tuple[ast.stmt, int]]:
    if isinstance(node, ast.With | ast.AsyncWith):
        called = (item.context_expr for item in node.items)
        swallowing = RAISING | {"suppress"}
        if not any(isinstance(c, ast.Call) and name_of(c.func) in swallowing for c in called):
            yield from statements(node.body, doubt)
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield from statements(node.body, doubt + (not _runs(node.iter)))
        yield from statements(node.orelse, UNCERTAIN)
    elif isinstance(node, ast.While):
        yield from statements(node.body, doubt + 1)
        yield from statements(node.orelse, UNCERTAIN)
    elif isinstance(node, ast.Try | ast.TryStar):
        yield from statements(node.body, UNCERTAIN if node.handlers else doubt)
        yield from statements([*node.orelse, *node.finalbody], doubt)
        for handler in node.handlers:
            yield from statements(handler.body, UNCERTAIN)
    elif isinstance(node, ast.If):
        yield from statements(node.body, UNCERTAIN)
        yield from statements(node.orelse, UNCERTAIN)
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from statements(case.body, UNCERTAIN)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from statements(node.body, UNCERTAIN)


def _runs(node: ast.expr) -> bool:
    """Whether a loop over it has at least one iteration."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return any(not isinstance(element, ast.Starred) for element in elements)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            return any(isinstance(item, ast.Constant) and item.value for item in arguments)
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys), attr="items")):
            return bool(keys)
        case ast.Name(id=name):
            return name.isupper()  # a constant of the module
        case _:
            return False
