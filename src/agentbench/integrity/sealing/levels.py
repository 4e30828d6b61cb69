"""Distinguishes expected expressions from computed ones by how much code they run."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from agentbench.python_source.constants import NotConstant, evaluate, is_immutable
from agentbench.python_source.python_syntax import dotted_name, name_of, variables_in
from agentbench.python_source.scopes import NameScope

NameKey: TypeAlias = tuple[str, str]
"""A name, and the function that binds it; the function is empty for names of the module.

The name of a class's attribute starts with a dot.
"""


class Level(IntEnum):
    """How much of the tested project an expression runs."""

    LITERAL = 0  # none of it: constants, and values of the standard library
    CONSTRUCTED = 1  # only constructors and members of classes
    COMPUTED = 2


_CONTAINERS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred)
_COLLECTIONS = ("dict", "frozenset", "list", "set", "tuple")
_COMPUTING = (ast.Compare, ast.NamedExpr, ast.Await, ast.Lambda, ast.Yield)
# Calls that compute literals from literals.
_STANDARD = frozenset([
    "Counter", "Decimal", "Fraction", "OrderedDict", "Path", "PosixPath", "PurePath",
    "PurePosixPath", "UUID", "bytearray", "bytes", "date", "datetime", "deque", "dict", "float",
    "frozenset", "int", "list", "set", "str", "time", "timedelta", "timezone", "tuple", "complex",
    "approx", "dedent", "escape", "len", "range", "reversed", "sorted", "sum", "zip", "min", "max",
    "enumerate", "repr", "bool", "chr", "ord", "abs", "round", "array", "Series", "DataFrame",
    "bin", "hex", "oct", "defaultdict", "slice", "map", "fromisoformat", "call"
])  # fmt: skip
# Methods of texts and containers that compute literals from literals.
_METHODS = frozenset([
    "copy", "decode", "encode", "format", "items", "join", "keys", "lower", "ljust", "replace",
    "rjust", "split", "splitlines", "strip", "title", "upper", "values", "zfill", "hex", "count"
])  # fmt: skip
STANDARD_MODULES = frozenset([
    "math", "np", "numpy", "string", "sys", "os", "errno", "http", "HTTPStatus", "signal", "socket",
    "stat", "datetime", "decimal", "fractions", "collections", "pathlib", "uuid", "textwrap", "re",
    "dt", "pytest", "mock", "timezone"
])  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An expression that gives a name its value, and the function that contains it."""

    node: ast.expr
    owner: str


def attribute_key(name: str) -> NameKey:
    """The key of an attribute that bodies of classes set."""
    return "", f".{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNames:
    """The names of a test file and their known values."""

    module: NameScope
    functions: Mapping[str, NameScope]
    cells: Mapping[NameKey, tuple[Cell, ...]]
    imported: frozenset[str]
    foreign: frozenset[str]  # imported from other files of tests, where their values stay
    standard: frozenset[str]  # built in, or imported from the standard library
    classes: frozenset[str]  # that the file defines
    given: Mapping[str, frozenset[str]]  # the parameters of helpers
    changed: frozenset[NameKey]  # parameters of helpers whose value the helper changes
    measured: Counter[NameKey]  # how often the file takes the length of a name's value

    def key(self, name: str, owner: str) -> NameKey:
        scope = self.functions.get(owner)
        return (owner, name) if scope is not None and name in scope.bound else ("", name)

    def is_expected(self, node: ast.expr, owner: str) -> bool:
        """Whether it is a changed parameter of a helper that gets expected values from callers."""
        key = self.key(node.id, owner) if isinstance(node, ast.Name) else ("", "")
        return key in self.changed and any(
            LevelReader(names=self, owner=cell.owner).level(cell.node) < Level.COMPUTED
            for cell in self.cells[key]
        )

    def is_inert(self, key: NameKey) -> bool:
        """Whether the values of a name are only names of classes and the like."""
        return all(isinstance(cell.node, ast.Name | ast.Attribute) for cell in self.cells[key])

    def is_only_compared(self, key: NameKey) -> bool:
        """Whether a name is read only as a whole side of a comparison."""
        owner, name = key
        scope = self.functions[owner] if owner else self.module
        others = scope.compared.get(name, 0) + self.measured[key]
        return scope.loads.get(name, 0) == others


@dataclass(slots=True, kw_only=True)
class LevelReader:
    """Reads the levels of the expressions of one function."""

    names: FileNames
    owner: str
    _visited: set[NameKey] = field(default_factory=set)
    _targets: set[str] = field(default_factory=set)  # the variables of comprehensions

    def level(self, node: ast.expr | None) -> Level:
        """The level of an expression; a missing expression has the lowest level."""
        match node:
            case None | ast.Constant():
                return Level.LITERAL
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.Attribute():
                return self._of_attribute(node)
            case ast.Call():
                return self._of_call(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._of_comprehension(node)
            case _:  # a container, an operation, or another expression with parts
                parts = ast.iter_child_nodes(node)
                inner = self._highest(part for part in parts if isinstance(part, ast.expr))
                if isinstance(node, _CONTAINERS):
                    return inner
                is_literal = inner is Level.LITERAL and not isinstance(node, _COMPUTING)
                return Level.LITERAL if is_literal else Level.COMPUTED

    def _highest(self, nodes: Iterable[ast.expr]) -> Level:
        return max((self.level(node) for node in nodes), default=Level.LITERAL)

    def _of_name(self, name: str) -> Level:
        names = self.names
        if name in self._targets:
            return Level.LITERAL
        key = names.key(name, self.owner)
        if key in self._visited:
            return Level.COMPUTED
        cells = names.cells.get(key)
        if cells is not None:
            self._visited.add(key)
            levels = []
            for cell in cells:
                visited = set(self._visited)
                reader = LevelReader(names=names, owner=cell.owner, _visited=visited)
                levels.append(reader.level(cell.node))
            self._visited.discard(key)
            is_safe = all(_stays_equal(cell.node, is_global=not key[0]) for cell in cells)
            return max(levels) if is_safe or names.is_only_compared(key) else Level.COMPUTED
        if key[0] or name in names.module.bound:
            known = name in names.classes or (name in names.imported and name[:1].isupper())
            return Level.CONSTRUCTED if known and not key[0] else Level.COMPUTED
        return Level.LITERAL if hasattr(builtins, name) else Level.COMPUTED

    def _of_attribute(self, node: ast.Attribute) -> Level:
        inner, owner = node.value, name_of(node.value)
        while isinstance(inner, ast.Attribute):
            owner, inner = name_of(inner.value), inner.value
        if not isinstance(inner, ast.Name) or self.names.key(inner.id, self.owner)[0]:
            return Level.COMPUTED
        if inner.id in STANDARD_MODULES:
            return Level.LITERAL
        is_member = any(name[:1].isupper() for name in (owner, name_of(node.value), node.attr))
        known = inner.id in self.names.imported or inner.id in self.names.classes
        return Level.CONSTRUCTED if is_member and known else Level.COMPUTED

    def _of_call(self, node: ast.Call) -> Level:
        name = name_of(node.func)
        arguments = self._highest([*node.args, *(keyword.value for keyword in node.keywords)])
        root, *parts = dotted_name(node.func).split(".")
        is_standard = root in self.names.standard and not self.names.key(root, self.owner)[0]
        if is_standard and "call" in (root, *parts):  # `mock.call.send(1)` only describes a call
            return arguments
        if isinstance(node.func, ast.Attribute) and name in _METHODS | _STANDARD:
            owner = self.level(node.func.value)
            inner = name_of(node.func.value)
            if owner is Level.LITERAL or inner in STANDARD_MODULES:
                return Level.LITERAL if arguments is Level.LITERAL else Level.COMPUTED
        elif name in _STANDARD and name not in self.names.module.constants:
            if name in _COLLECTIONS and arguments is Level.CONSTRUCTED:
                return Level.CONSTRUCTED
            return Level.LITERAL if arguments is Level.LITERAL else Level.COMPUTED
        if name[:1].isupper() and not self.names.key(name, self.owner)[0]:
            return max(Level.CONSTRUCTED, arguments)
        return Level.COMPUTED

    def _of_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Level:
        bound = {name for generator in node.generators for name in variables_in(generator.target)}
        added = bound - self._targets
        self._targets |= added
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        parts += [generator.iter for generator in node.generators]
        parts += [test for generator in node.generators for test in generator.ifs]
        level = self._highest(parts)
        self._targets -= added
        return level if level is Level.LITERAL else Level.COMPUTED


_IMMUTABLE = frozenset([
    "Decimal", "Fraction", "Path", "PosixPath", "PurePath", "PurePosixPath", "UUID", "bytes",
    "complex", "date", "datetime", "dedent", "float", "frozenset", "int", "join", "len", "range",
    "repr", "str", "time", "timedelta", "timezone", "tuple", "encode", "decode", "format", "replace"
])  # fmt: skip


# Whether a value most likely never changes, since it is immutable or a table of the module.
def _stays_equal(node: ast.expr, *, is_global: bool) -> bool:
    value = evaluate(node)
    if not isinstance(value, NotConstant):
        return is_immutable(value) or (is_global and bool(value))
    if isinstance(node, ast.Call):
        return name_of(node.func) in _IMMUTABLE
    if isinstance(node, ast.List | ast.Dict | ast.Set):
        return is_global
    return isinstance(node, ast.Attribute | ast.JoinedStr | ast.BinOp | ast.Name | ast.Tuple)
