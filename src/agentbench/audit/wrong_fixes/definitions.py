"""What a module defines: its functions, classes and names, in a form without their layout."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agentbench import syntax

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)


class Kind(StrEnum):
    """What a name stands for."""

    FUNCTION = "function"
    CLASS = "class"
    """Its bases, decorators and whatever of its body is no function."""
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Something that a module defines."""

    kind: Kind
    shape: str  # equal for two that differ in layout, comments or docstrings alone
    uses: frozenset[str]  # names and attributes that it mentions


def definitions_of(source: bytes) -> Mapping[str, Definition] | None:
    """The definitions of a module by their qualified names; `None` where it is no Python."""
    try:
        tree = syntax.parse(source)
        return dict(_definitions(tree.body))
    except _UNREADABLE:
        return None


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, Definition]]:
    parts: dict[str, list[ast.AST]] = defaultdict(list)
    kinds: dict[str, Kind] = {}
    for name, kind, node in _named(body, ""):
        parts[name].append(node)
        kinds.setdefault(name, kind)
    for name, nodes in parts.items():
        shape = "\n".join(_shape(node) for node in nodes)
        uses = frozenset(use for node in nodes for use in _uses(node))
        yield name, Definition(kind=kinds[name], shape=shape, uses=uses)


def _named(body: list[ast.stmt], scope: str) -> Iterator[tuple[str, Kind, ast.AST]]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield scope + node.name, Kind.FUNCTION, node
        elif isinstance(node, ast.ClassDef):
            yield scope + node.name, Kind.CLASS, _head(node)
            yield from _named(node.body, f"{scope}{node.name}.")
        elif not scope and not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
            yield from _statement(node)


def _statement(node: ast.stmt) -> Iterator[tuple[str, Kind, ast.AST]]:
    """What a statement of a module defines, or else what it does something with."""
    inner = [child for child in ast.walk(node) if isinstance(child, _SCOPES)]
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    for child in inner:  # under an `if` or `try`
        yield child.name, Kind.FUNCTION, node
    for name in dict.fromkeys(stored or [one.id for one in names if not inner]):
        yield name, Kind.VALUE, node


def _head(node: ast.ClassDef) -> ast.ClassDef:
    body = [one for one in node.body if not isinstance(one, _SCOPES)]
    return ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=body,
        decorator_list=node.decorator_list,
    )


def _shape(node: ast.AST) -> str:
    return ast.dump(_WithoutDocstrings().visit(node))


class _WithoutDocstrings(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, _SCOPES):
            node.body = [one for one in node.body if not _is_text(one)]
        return node


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _uses(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
