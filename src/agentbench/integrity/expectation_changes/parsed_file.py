"""A parsed test file with its test functions and doctests."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentbench.integrity.expectation_changes import expected_values
from agentbench.integrity.expectation_changes.assertions import Helpers, expected_in
from agentbench.integrity.expectation_changes.expected_literals import (
    LiteralReader,
    ParameterColumn,
)
from agentbench.integrity.records import ValueKind
from agentbench.python_source import scopes, source_text
from agentbench.python_source.constants import Names
from agentbench.python_source.functions import (
    FoundFunction,
    FunctionsOfFile,
    SelectedFunction,
    functions_of,
)
from agentbench.python_source.parametrize import ParameterTable, tables

_NOT_PLAIN = ("...", "<BLANKLINE>", "Traceback")


def doctest_values(
    source: source_text.SourceText, name: str
) -> list[expected_values.ExpectedValue]:
    """The output lines in the docstring of a doctest's name, such as `module.Class`."""
    module = source.path.rpartition("/")[2].removesuffix(".py")
    parts = name.split(".")
    if module not in parts:
        return []
    owner = ".".join(parts[parts.index(module) + 1 :])
    found = [text for known, text in _docstrings(source.tree.body, "") if known == owner]
    return list(_outputs(source, found[-1])) if found else []


def _docstrings(body: Sequence[ast.stmt], name: str) -> Iterator[tuple[str, ast.Constant]]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
            yield name, text
        case _:
            pass
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _docstrings(node.body, f"{name}.{node.name}".lstrip("."))


def _outputs(
    source: source_text.SourceText, docstring: ast.Constant
) -> Iterator[expected_values.ExpectedValue]:
    from doctest import DocTestParser  # the module loads the debugger

    text = str(docstring.value)
    try:
        examples = DocTestParser().get_examples(text)
    except ValueError:
        return  # invalid prompts; the doctest would fail
    lines = text.split("\n")
    for example in examples:
        if any(word in example.want for word in _NOT_PLAIN):
            continue
        first = example.lineno + example.source.count("\n")
        for at in range(first, first + example.want.count("\n")):
            number = docstring.lineno + at
            start = source.line_start(number)
            line, output = lines[at], lines[at].strip()
            written = source.text[start : start + len(line)]
            if at == 0 or written != line or not output or "\\" in line:
                continue  # in a text with escapes, positions differ
            begin = start + line.index(output)
            yield expected_values.ExpectedValue(
                span=source_text.SourceSpan(begin, begin + len(output)),
                line=number,
                kind=ValueKind.DOCTEST,
                original=output,
                doubt=0,
                rewriter=expected_values.DoctestOutput(line=output),
                site=at,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFunction:
    """A test function with its parameters and expected values."""

    name: str
    node: scopes.FunctionNode | None  # `None` for a doctest, and for functions outside of the file
    tables: tuple[ParameterTable, ...] = ()
    values: tuple[expected_values.ExpectedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """A parsed file of tests."""

    source: source_text.SourceText
    functions: FunctionsOfFile
    module: scopes.NameScope
    lasting: Names
    helpers: Helpers

    def read(self, function: FoundFunction) -> ParsedFunction:
        scope = scopes.function_scope(function.node)
        found = tables(self.source, function.node, self.module)
        every = self._columns(function.node, found)
        columns = {name: column for name, column in every if scope.bound.get(name) == 1}
        outer = {name: node for name, node in self.lasting.items() if name not in scope.bound}
        reader = LiteralReader(
            source=self.source,
            module=self.module,
            function=scope,
            columns=columns,
            names={**outer, **scopes.lasting_constants(scope, outer)},
        )
        values = tuple(expected_in(reader, function.node, self.helpers))
        node = function.node
        return ParsedFunction(name=function.name, node=node, tables=tuple(found), values=values)

    def read_selected(self, name: str, selected: SelectedFunction) -> ParsedFunction:
        """The expected values of a selected function or doctest."""
        if selected.function is not None:
            return self.read(selected.function)
        values = tuple(doctest_values(self.source, name))
        return ParsedFunction(name=name, node=None, values=values)

    def _columns(
        self, function: scopes.FunctionNode, found: Iterable[ParameterTable]
    ) -> Iterator[tuple[str, ParameterColumn]]:
        for number, table in enumerate(found):
            for at, name in enumerate(table.names):
                column = tuple(
                    (expected_values.ParameterRow(table=number, index=index), row.values[at])
                    for index, row in enumerate(table.rows)
                    if table.keeps_id(index, row.values[at])
                )
                yield name, column
        for node in ast.walk(function):
            if isinstance(node, ast.For):
                yield from loop_columns(node, self.module)


def parse_file(text: str, path: str) -> ParsedFile:
    """Parse a test file."""
    source = source_text.parse_source(text, path)
    functions = functions_of(source.tree)
    module = scopes.module_scope(source.tree)
    others = (found for found in functions.functions.values() if not found.looks_like_a_test)
    return ParsedFile(
        source=source,
        functions=functions,
        module=module,
        lasting=scopes.lasting_constants(module),
        helpers={found.node.name: found for found in others},
    )


def loop_columns(loop: ast.For, scope: scopes.NameScope) -> Iterator[tuple[str, ParameterColumn]]:
    """The variables of a loop over literals, or over a constant of a scope, and their values."""
    rounds = _items(loop.iter)
    if isinstance(rounds, ast.Name) and scope.loads.get(rounds.id) == 1:
        rounds = scope.constants.get(rounds.id, rounds)
    if not isinstance(rounds, ast.List | ast.Tuple):
        return
    if isinstance(loop.target, ast.Name):
        yield loop.target.id, tuple((None, cell) for cell in rounds.elts)
    if not isinstance(loop.target, ast.Tuple):
        return
    targets = loop.target.elts
    rows = [row.elts for row in rounds.elts if isinstance(row, ast.Tuple | ast.List)]
    if any(len(row) != len(targets) for row in rows):
        return
    for at, target in enumerate(targets):
        if isinstance(target, ast.Name):
            yield target.id, tuple((None, row[at]) for row in rows)


# The pairs of a dict literal, as a list of tuples.
def _items(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items")):
            known = [(key, value) for key, value in zip(keys, values, strict=True) if key]
            pairs: list[ast.expr] = [ast.Tuple(elts=[key, value]) for key, value in known]
            return ast.List(elts=pairs) if len(known) == len(keys) else node
        case _:
            return node
