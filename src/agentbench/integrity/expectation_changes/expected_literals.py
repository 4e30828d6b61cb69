"""Finds the values in an expected expression, each with a rewriter."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from agentbench.integrity.expectation_changes import values
from agentbench.integrity.expectation_changes.expected_values import (
    EMPTY_CALLS,
    EMPTY_DICT,
    ConstantValue,
    ExpectedError,
    ExpectedPattern,
    ExpectedValue,
    FormattedText,
    ParameterRow,
    ValueRewriter,
    with_added_element,
    with_first_element,
    without_element,
)
from agentbench.integrity.expectation_changes.scopes import NameScope, name_of
from agentbench.integrity.expectation_changes.source_text import SourceText
from agentbench.integrity.expectation_changes.values import FAR, NEAR, Distance
from agentbench.integrity.records import ValueKind

_LONGEST_COPY = 2_000
_PURE = frozenset([
    "set", "frozenset", "list", "tuple", "dict", "sorted", "Counter", "OrderedDict", "deque",
    "approx", "str", "int", "float", "bytes", "bytearray", "Decimal", "Fraction", "array", "Series",
    "Path", "PurePath", "PurePosixPath", "timedelta"
])  # fmt: skip


ParameterColumn = tuple[tuple[ParameterRow | None, ast.expr], ...]
"""The expressions of a parameter or a loop variable, one for each round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralReader:
    """Reads expected expressions of one test function."""

    source: SourceText
    module: NameScope
    function: NameScope
    columns: Mapping[str, ParameterColumn]
    names: values.Names  # the constant that a name always stands for

    def literals(
        self, node: ast.expr, doubt: int, distance: Distance = NEAR
    ) -> list[ExpectedValue]:
        """All values in an expression whose change gives it another value."""
        return list(self._leaves(node, doubt, distance))

    def value_of(self, node: ast.expr) -> values.LiteralValue:
        """The value of a constant expression; raises NotConstantError."""
        return values.evaluate(node, self.names)

    def is_constant(self, node: ast.expr) -> bool:
        """Whether an expression is constant."""
        try:
            self.value_of(node)
        except values.NotConstantError:
            return False
        return True

    def errors(self, node: ast.expr, doubt: int) -> list[ExpectedValue]:
        """The expected exception type, or one for each round."""
        if isinstance(node, ast.Name) and node.id in self.columns:
            return self._in_rows(node.id, lambda cell: self.errors(cell, doubt))
        types = node.elts if isinstance(node, ast.Tuple) else [node]
        names = tuple(name_of(one) for one in types)
        if not names or "" in names or set(names) & set(self.function.bound):
            return []
        return [self.value(node, ValueKind.ERROR, doubt, ExpectedError(names=names))]

    def patterns(self, node: ast.expr, doubt: int) -> list[ExpectedValue]:
        """The expected regular expression."""
        match node:
            case ast.Name(id=name) if name in self.columns:
                return self._in_rows(name, lambda cell: self.patterns(cell, doubt))
            case ast.Call(func=ast.Attribute(attr="escape"), args=[inner]):
                return self.literals(inner, doubt, FAR)
            case _:
                pass
        try:
            value = self.value_of(node)
        except values.NotConstantError:
            return []
        if not isinstance(value, str):
            return []
        return [self.value(node, ValueKind.PATTERN, doubt, ExpectedPattern(value=value))]

    def _in_rows(
        self, name: str, find: Callable[[ast.expr], Iterable[ExpectedValue]]
    ) -> list[ExpectedValue]:
        cells = self.columns[name]
        return [replace(value, row=row) for row, cell in cells for value in find(cell)]

    def value(
        self, node: ast.expr, kind: ValueKind, doubt: int, way: ValueRewriter
    ) -> ExpectedValue:
        """An expected value that is a whole node."""
        return ExpectedValue(
            span=self.source.span(node),
            line=node.lineno,
            kind=kind,
            original=self.source.segment(node),
            doubt=doubt,
            rewriter=way,
        )

    def _leaves(
        self, node: ast.expr, doubt: int, distance: Distance, avoid: Collection[object] = ()
    ) -> Iterator[ExpectedValue]:
        constant = self._constant(node, doubt, distance, avoid)
        if constant is not None:
            yield constant
        elif isinstance(node, ast.Name):
            yield from self._named(node.id, doubt, distance)
        elif isinstance(node, ast.JoinedStr):
            way = FormattedText(written=self.source.segment(node))
            yield self.value(node, ValueKind.FORMATTED, doubt, way)
        elif isinstance(node, ast.Call):
            yield from self._call(node, doubt, distance)
        elif isinstance(node, ast.Dict):
            yield from self._pairs(node, doubt, distance)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from self._elements(node, doubt, distance)
        else:
            for operand in _operands(node):
                yield from self._leaves(operand, doubt + 1, distance)

    def _constant(
        self, node: ast.expr, doubt: int, distance: Distance, avoid: Collection[object]
    ) -> ExpectedValue | None:
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            return None  # their elements are changed in place
        try:
            value = self.value_of(node)
        except values.NotConstantError:
            return None
        if not isinstance(node, ast.Constant) and len(repr(value)) > _LONGEST_COPY:
            return None
        way = ConstantValue(value=value, distance=distance, avoid=avoid)
        return self.value(node, _kind(value), doubt, way)

    def _named(self, name: str, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        scope, count = self.function, self.function.compared.get(name, 0)
        if name in self.columns:
            elsewhere = scope.loads[name] > count
            for value in self._in_rows(
                name, lambda cell: self._leaves(cell, doubt + elsewhere, distance)
            ):
                if not (elsewhere and value.rewriter.changes_length):
                    yield value
            return
        if name not in scope.bound:
            scope = self.module
        definition = scope.constants.get(name)
        if definition is not None and scope.loads[name] == count:
            yield from self._leaves(definition, doubt, distance)

    def _elements(
        self, node: ast.Tuple | ast.List | ast.Set, doubt: int, distance: Distance
    ) -> Iterator[ExpectedValue]:
        source, elements = self.source, node.elts
        neighbours = self._scalars(elements)
        for element in elements:
            yield from self._leaves(element, doubt, distance, neighbours)
        if elements:
            yield from with_added_element(source, node, elements[0], neighbours, doubt)
            yield from without_element(source, [(one, one) for one in elements], doubt)
        else:
            yield with_first_element(source, node, source.segment(node)[0], doubt)

    def _pairs(self, node: ast.Dict, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        keys = [key for key in node.keys if key is not None]
        neighbours = self._scalars(keys)
        for key in keys:
            yield from self._leaves(key, doubt, NEAR, neighbours)
        for value in node.values:
            yield from self._leaves(value, doubt, distance)
        if not node.keys:
            yield with_first_element(self.source, node, EMPTY_DICT, doubt)
        elif len(keys) == len(node.keys):  # none is a {**spread}
            yield from without_element(
                self.source, list(zip(keys, node.values, strict=True)), doubt
            )

    def _call(self, node: ast.Call, doubt: int, distance: Distance) -> Iterator[ExpectedValue]:
        name = name_of(node.func)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not arguments and name in EMPTY_CALLS:
            yield with_first_element(self.source, node, EMPTY_CALLS[name], doubt)
        elif name == "approx":
            tolerance = self.tolerance(node, {"rel": 1e-6, "abs": 1e-12})
            if tolerance is not None and node.args:
                yield from self._leaves(node.args[0], doubt, tolerance)
        else:
            extra = 1 if name in _PURE else 2
            for argument in arguments:
                values_in = self._leaves(argument, doubt + extra, distance)
                yield from (one for one in values_in if not one.rewriter.changes_length)

    def tolerance(self, call: ast.Call, usual: Mapping[str, float]) -> Distance | None:
        """The tolerance of a comparison; `None` if it is not a constant."""
        relative, absolute = usual.values()
        for keyword in call.keywords:
            if keyword.arg not in usual:
                continue
            try:
                value = self.value_of(keyword.value)
            except values.NotConstantError:
                return None
            if isinstance(value, int | float) and keyword.arg == next(iter(usual)):
                relative = value
            elif isinstance(value, int | float):
                absolute = value
        return Distance(relative=relative, absolute=absolute) if relative < 0.2 else None

    def _scalars(self, nodes: Iterable[ast.expr]) -> list[values.Scalar]:
        found: list[values.Scalar] = []
        for node in nodes:
            try:
                value = self.value_of(node)
            except values.NotConstantError:
                continue
            if values.is_scalar(value):
                found.append(value)
        return found


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return [operand]
        case _:
            return []


def _kind(value: values.LiteralValue) -> ValueKind:
    match value:
        case bool():
            return ValueKind.TRUTH
        case None:
            return ValueKind.NOTHING
        case str():
            return ValueKind.TEXT
        case bytes():
            return ValueKind.BYTES
        case tuple() | list() | set() | dict():
            return ValueKind.CONTAINER
        case _:
            return ValueKind.NUMBER
