"""A file of tests with all that is known about its test functions."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentbench.stages.verification.mutation.assertions import Helper, expected_in
from agentbench.stages.verification.mutation.doctests import doctest_values
from agentbench.stages.verification.mutation.expected import ExpectedValue, Row
from agentbench.stages.verification.mutation.functions import (
    FoundFunction,
    FunctionsOfFile,
    Selected,
    functions_of,
)
from agentbench.stages.verification.mutation.leaves import Column, Reader, Surroundings
from agentbench.stages.verification.mutation.names import (
    FunctionNode,
    Scope,
    function_scope,
    lasting,
    module_scope,
)
from agentbench.stages.verification.mutation.parametrize import Table, tables
from agentbench.stages.verification.mutation.source_text import SourceText, parse_source
from agentbench.stages.verification.mutation.values import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFunction:
    """A test function, its parameters and what it expects."""

    name: str
    node: FunctionNode | None
    """`None` for a doctest, and for what the file does not define."""
    tables: tuple[Table, ...] = ()
    values: tuple[ExpectedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A parsed file of tests."""

    source: SourceText
    functions: FunctionsOfFile
    module: Scope
    lasting: Names
    helpers: Mapping[str, Helper]

    def read(self, function: FoundFunction) -> ReadFunction:
        """What one function expects."""
        scope = function_scope(function.node)
        found = tables(self.source, function.node, self.module)
        columns = {
            name: column
            for name, column in self._columns(function.node, found)
            if scope.bound.get(name) == 1
        }
        outer = {name: node for name, node in self.lasting.items() if name not in scope.bound}
        around = Surroundings(
            source=self.source, module=self.module, function=scope, columns=columns
        )
        reader = Reader(around=around, names={**outer, **lasting(scope, outer)})
        values = expected_in(reader, function.node, self.helpers)
        return ReadFunction(
            name=function.name,
            node=function.node,
            tables=tuple(found),
            values=tuple(values),
        )

    def read_selected(self, name: str, selected: Selected) -> ReadFunction:
        """What a selected function, or doctest, expects."""
        if selected.function is not None:
            return self.read(selected.function)
        values = tuple(doctest_values(self.source, name))
        return ReadFunction(name=name, node=None, values=values)

    def _columns(
        self, function: FunctionNode, found: Iterable[Table]
    ) -> Iterator[tuple[str, Column]]:
        for number, table in enumerate(found):
            for at, name in enumerate(table.names):
                cells = [
                    (Row(table=number, index=index), row.values[at])
                    for index, row in enumerate(table.rows)
                    if table.keeps_id(index, row.values[at])
                ]
                yield name, Column(cells=tuple(cells))
        for node in ast.walk(function):
            if isinstance(node, ast.For):
                yield from _loop_columns(node, self.module)


def read_file(text: str, path: str) -> ReadFile:
    """Parse a file of tests.

    Raises:
        InputError: The text is no Python that this interpreter can compile.
    """
    source = parse_source(text, path)
    functions = functions_of(source.tree)
    module = module_scope(source.tree)
    helpers = {
        found.node.name: Helper(node=found.node, bound=found.is_method)
        for found in functions.functions.values()
        if not found.looks_like_a_test
    }
    return ReadFile(
        source=source,
        functions=functions,
        module=module,
        lasting=lasting(module),
        helpers=helpers,
    )


def _loop_columns(loop: ast.For, module: Scope) -> Iterator[tuple[str, Column]]:
    rounds = _items(loop.iter)
    if isinstance(rounds, ast.Name) and module.loads.get(rounds.id) == 1:
        rounds = module.constants.get(rounds.id, rounds)
    if not isinstance(rounds, ast.List | ast.Tuple):
        return
    if isinstance(loop.target, ast.Name):
        yield loop.target.id, Column(cells=tuple((None, cell) for cell in rounds.elts))
    if not isinstance(loop.target, ast.Tuple):
        return
    targets = loop.target.elts
    rows = [row.elts for row in rounds.elts if isinstance(row, ast.Tuple | ast.List)]
    if any(len(row) != len(targets) for row in rows):
        return
    for at, target in enumerate(targets):
        if isinstance(target, ast.Name):
            yield target.id, Column(cells=tuple((None, row[at]) for row in rows))


def _items(node: ast.expr) -> ast.expr:
    """The pairs of a dict that is written down, as if they were a list of tuples."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items")):
            known = [(key, value) for key, value in zip(keys, values, strict=True) if key]
            pairs: list[ast.expr] = [ast.Tuple(elts=[key, value]) for key, value in known]
            return ast.List(elts=pairs) if len(known) == len(keys) else node
        case _:
            return node
