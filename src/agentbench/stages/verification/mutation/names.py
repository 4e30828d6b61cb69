"""What a name stands for in a test function, where that can be told without running it."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agentbench.stages.verification.mutation.values import (
    Names,
    NotConstantError,
    evaluate,
    is_immutable,
)

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_NAMED = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.arg,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names that a module or a function binds."""

    constants: Names
    """Bound once, at the top of the scope, so that they stand for their expression throughout."""
    bound: Mapping[str, int]
    loads: Mapping[str, int]
    """How often a name is read, in nested functions too."""
    compared: Mapping[str, int]
    """How often it is read as a whole side of a comparison, or argument, that asserts."""
    made_of: Mapping[str, frozenset[str]]
    """Which names a name was made of, as far as assignments and loops tell."""

    def origins(self, node: ast.expr) -> set[str]:
        """The names that an expression is made of, by way of others too."""
        found: set[str] = set()
        waiting = list(names_in(node))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.made_of.get(name, ())
        return found


def module_scope(tree: ast.Module) -> Scope:
    """The names of a module; those that a function declares global are bound there again."""
    bound = Counter(_bindings(_outermost_nodes(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            bound.update(node.names)
    return _scope(tree, tree.body, bound)


def function_scope(function: FunctionNode) -> Scope:
    """The names of a function. Those of functions within it count too: they may hide others."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    inside = (node for statement in function.body for node in ast.walk(statement))
    bound = Counter(argument.arg for argument in named)
    bound.update(_bindings(inside))
    return _scope(function, function.body, bound)


def lasting(scope: Scope, outer: Names | None = None) -> Names:
    """Those constants of which every use may have a copy, as nothing changes them."""
    found: dict[str, ast.expr] = {}
    known = {**(outer or {}), **scope.constants}
    for name, node in scope.constants.items():
        try:
            value = evaluate(node, known)
        except NotConstantError:
            continue
        if is_immutable(value) or scope.loads[name] == scope.compared[name]:
            found[name] = node
    return found


def name_of(node: ast.expr) -> str:
    """The last name of what is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def names_in(node: ast.AST) -> Iterator[str]:
    """The names in an expression, but for those of which it takes the length only."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Call) and name_of(node.func) == "len":
        return  # a length tells nothing of the values
    for child in ast.iter_child_nodes(node):
        yield from names_in(child)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and all within them, but for what is inside a function or class among them."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from own_nodes(ast.iter_child_nodes(node))


def _scope(node: ast.AST, body: Iterable[ast.stmt], bound: Counter[str]) -> Scope:
    loads: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    made_of: dict[str, set[str]] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            loads[child.id] += 1
        if isinstance(child, ast.Assert | ast.Call):
            compared.update(_compared(child))
        for name, origin in _derivations(child):
            made_of.setdefault(name, set()).add(origin)
    constants = {
        name: value
        for statement in body
        for name, value in _assigned(statement)
        if bound[name] == 1
    }
    return Scope(
        constants=constants,
        bound=bound,
        loads=loads,
        compared=compared,
        made_of={name: frozenset(origins) for name, origins in made_of.items()},
    )


def _outermost_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    yield from own_nodes(tree.body)


def _derivations(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Pairs of a name and another one that it is made of."""
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
                yield from names * 2  # bound elsewhere as well
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case _:
                yield from _named(node)


def _named(node: ast.AST) -> Iterator[str]:
    """The name that a definition, a parameter, a handler or a pattern has as a plain text."""
    if isinstance(node, _NAMED):
        name = getattr(node, "arg" if isinstance(node, ast.arg) else "name", None)
        if isinstance(name, str):
            yield name
    elif isinstance(node, ast.MatchMapping) and node.rest is not None:
        yield node.rest


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
            if len(targets) != len(values) or any(isinstance(v, ast.Starred) for v in values):
                return
            for target, value in pairs:
                if isinstance(target, ast.Name):
                    yield target.id, value
        case _:
            pass


def _compared(node: ast.AST) -> Iterator[str]:
    sides: list[ast.expr] = []
    match node:
        case ast.Assert(test=ast.Compare(left=left, comparators=comparators)):
            sides = [left, *comparators]
        case ast.Call(func=ast.Attribute(attr=name), args=sides) if name.startswith("assert"):
            pass
    yield from (side.id for side in sides if isinstance(side, ast.Name))
