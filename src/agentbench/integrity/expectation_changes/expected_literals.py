"""Finds the values in an expected expression, each with a rewriter."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from agentbench.integrity.expectation_changes.expected_values import (
    ConstantValue,
    ExpectedError,
    ExpectedPattern,
    ExpectedValue,
    ParameterRow,
    ValueRewriter,
)
from agentbench.integrity.expectation_changes.other_values import FAR, NEAR, Distance
from agentbench.integrity.records import ValueKind
from agentbench.python_source import constants
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.scopes import NameScope
from agentbench.python_source.source_text import SourceText

_LONGEST_COPY = 2_000
_PURE = frozenset([
    "set", "frozenset", "list", "tuple", "dict", "sorted", "Counter", "OrderedDict", "deque",
    "approx", "str", "int", "float", "bytes", "bytearray", "Decimal", "Fraction", "array", "Series",
    "Path", "PurePath", "PurePosixPath", "timedelta"
])  # fmt: skip
_KINDS: Mapping[type, ValueKind] = {
    bool: ValueKind.TRUTH,
    type(None): ValueKind.NOTHING,
    str: ValueKind.TEXT,
    bytes: ValueKind.BYTES,
    **dict.fromkeys((tuple, list, set, dict), ValueKind.CONTAINER),
}

ParameterColumn = tuple[tuple[ParameterRow | None, ast.expr], ...]
"""The expressions of a parameter or a loop variable, one for each iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralReader:
    """Reads expected expressions of one test function."""

    source: SourceText
    module: NameScope
    function: NameScope
    columns: Mapping[str, ParameterColumn]
    names: constants.Names  # the constant that a name always means

    def literals(
        self, node: ast.expr, doubt: int, distance: Distance = NEAR
    ) -> list[ExpectedValue]:
        """All values in an expression that change its value if they are changed."""
        return list(self._expected_values(node, doubt, distance))

    def value_of(self, node: ast.expr) -> constants.LiteralValue | constants.NotConstant:
        """The value of an expression, as far as it is constant."""
        return constants.evaluate(node, self.names)

    def is_constant(self, node: ast.expr) -> bool:
        return not isinstance(self.value_of(node), constants.NotConstant)

    def errors(self, node: ast.expr, doubt: int) -> list[ExpectedValue]:
        """The expected exception type, or one for each iteration."""
        if isinstance(node, ast.Name) and node.id in self.columns:
            return self._in_rows(node.id, lambda cell: self.errors(cell, doubt))
        types = node.elts if isinstance(node, ast.Tuple) else [node]
        names = tuple(name_of(one) for one in types)
        if not names or "" in names or set(names) & set(self.function.bound):
            return []
        return [self.value(node, ValueKind.ERROR, doubt, ExpectedError(names=names))]

    def patterns(self, node: ast.expr, doubt: int) -> list[ExpectedValue]:
        match node:
            case ast.Name(id=name) if name in self.columns:
                return self._in_rows(name, lambda cell: self.patterns(cell, doubt))
            case ast.Call(func=ast.Attribute(attr="escape"), args=[inner]):
                return self.literals(inner, doubt, FAR)
            case _:
                pass
        value = self.value_of(node)
        if not isinstance(value, str):
            return []
        return [self.value(node, ValueKind.PATTERN, doubt, ExpectedPattern(value=value))]

    def _in_rows(
        self, name: str, find: Callable[[ast.expr], Iterable[ExpectedValue]]
    ) -> list[ExpectedValue]:
        cells = self.columns[name]
        return [replace(value, row=row) for row, cell in cells for value in find(cell)]

    def value(
        self, node: ast.expr, kind: ValueKind, doubt: int, rewriter: ValueRewriter
    ) -> ExpectedValue:
        span = self.source.span(node)
        return ExpectedValue(
            span=span,
            line=self.source.line_of(span.start),
            kind=kind,
            original=self.source.segment(node),
            doubt=doubt,
            rewriter=rewriter,
        )

    def _expected_values(
        self, node: ast.expr, doubt: int, distance: Distance, avoid: Collection[object] = ()
    ) -> Iterator[ExpectedValue]:
        constant = self._constant(node, doubt, distance, avoid)
        if constant is not None:
            yield constant
        elif isinstance(node, ast.Name):
            yield from self._named(node.id, doubt, distance)
        elif isinstance(node, ast.Call):
            yield from self._call(node, doubt, distance)
        elif isinstance(node, ast.Dict):
            yield from self._pairs(node, doubt, distance)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            elements = node.elts
            neighbours = self._scalars(elements)
            for element in elements:
                yield from self._expected_values(element, doubt, distance, neighbours)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            for operand in (node.left, node.right):
                yield from self._expected_values(operand, doubt + 1, distance)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield from self._expected_values(node.operand, doubt + 1, distance)

    def _constant(
        self, node: ast.expr, doubt: int, distance: Distance, avoid: Collection[object]
    ) -> ExpectedValue | None:
        value = self.value_of(node)
        if value and isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            return None  # their elements are changed in place
        if isinstance(value, constants.NotConstant):
            return None
        if not isinstance(node, ast.Constant) and len(repr(value)) > _LONGEST_COPY:
            return None
        rewriter = ConstantValue(value=value, distance=distance, avoid=avoid)
        kind = _KINDS.get(type(value), ValueKind.NUMBER)
        return self.value(node, kind, doubt, rewriter)

    def _named(self, name: str, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        scope, count = self.function, self.function.compared.get(name, 0)
        if name in self.columns:
            doubt += scope.loads[name] > count  # it is read elsewhere, too
            yield from self._in_rows(
                name, lambda cell: self._expected_values(cell, doubt, distance)
            )
            return
        if name not in scope.bound:
            scope = self.module
        definition = scope.constants.get(name)
        if definition is not None and scope.loads[name] == count:
            yield from self._expected_values(definition, doubt, distance)

    def _pairs(self, node: ast.Dict, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        keys = [key for key in node.keys if key is not None]
        neighbours = self._scalars(keys)
        for key in keys:
            yield from self._expected_values(key, doubt, NEAR, neighbours)
        for value in node.values:
            yield from self._expected_values(value, doubt, distance)

    def _call(self, node: ast.Call, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        name = name_of(node.func)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name == "approx":
            tolerance = self.tolerance(node, {"rel": 1e-6, "abs": 1e-12})
            if tolerance is not None and node.args:
                yield from self._expected_values(node.args[0], doubt, tolerance)
        else:
            extra = 1 if name in _PURE else 2
            for argument in arguments:
                yield from self._expected_values(argument, doubt + extra, distance)

    def tolerance(self, call: ast.Call, usual: Mapping[str, float]) -> Distance | None:
        """The tolerance of a comparison; `None` if it is not a constant."""
        relative, absolute = usual.values()
        for keyword in call.keywords:
            if keyword.arg not in usual:
                continue
            value = self.value_of(keyword.value)
            if isinstance(value, constants.NotConstant):
                return None
            if isinstance(value, int | float) and keyword.arg == next(iter(usual)):
                relative = value
            elif isinstance(value, int | float):
                absolute = value
        return Distance(relative=relative, absolute=absolute) if relative < 0.2 else None

    def _scalars(self, nodes: Iterable[ast.expr]) -> list[constants.Scalar]:
        return [value for value in map(self.value_of, nodes) if constants.is_scalar(value)]
