"""Makes selected tests of a file expect other values, and disguises the whole file."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.integrity import records
from agentbench.integrity.expectation_changes import disguise, parsed_file
from agentbench.integrity.expectation_changes.expected_values import ExpectedValue, Replacement
from agentbench.integrity.expectation_changes.opaque_ids import OpaqueIds, opaque_ids
from agentbench.integrity.expectation_changes.other_values import other_value
from agentbench.python_source import source_text
from agentbench.python_source.functions import SelectedFunction
from agentbench.python_source.scopes import UNCERTAIN, FunctionNode, own_nodes

_COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip
_NO_VALUE = "it compares with no value that could be changed with certainty"
_NONE_FOR_ALL = "no value decides all of its selected cases without giving them other ids"
_UNCERTAIN = "it passed, or could have, in spite of a changed value"
_NOT_DEFINED = "the file does not define it"
_GENERATOR = "it is a generator, in which an assertion at the end is not reached"
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedChange:
    """An expected value and its replacement."""

    value: ExpectedValue
    new: Replacement


def select_changes(
    function: parsed_file.ParsedFunction, cases: Sequence[str | None], rng: Random
) -> tuple[SelectedChange, ...]:
    """One value of the function, or one for each set of parameters; empty if no value decides."""
    whole = [value for value in function.values if value.row is None]
    for groups in sorted(_by_row(function, cases), key=_doubt):
        if _doubt(groups) < UNCERTAIN or not whole:
            chosen = [_one_of(group, rng) for group in groups]
            if None not in chosen:
                return tuple(one for one in chosen if one is not None)
    one = _one_of(whole, rng)
    return (one,) if one is not None else ()


# For each table, the values in the rows of the selected tests, if each row has a value.
def _by_row(
    function: parsed_file.ParsedFunction, cases: Sequence[str | None]
) -> Iterator[list[list[ExpectedValue]]]:
    values: dict[tuple[int, int], list[ExpectedValue]] = {}
    for value in function.values:
        if value.row is not None:
            values.setdefault((value.row.table, value.row.index), []).append(value)
    for number, table in enumerate(function.tables):
        groups = [values.get((number, row), []) for row in table.rows_of(cases)]
        if groups and all(groups):
            yield groups


def _doubt(groups: list[list[ExpectedValue]]) -> int:
    return max(min(value.doubt for value in group) for group in groups)


# A value of a random assertion, from the values with the least doubt.
def _one_of(values: Sequence[ExpectedValue], rng: Random) -> SelectedChange | None:
    for doubt in sorted({value.doubt for value in values}):
        certain = [value for value in values if value.doubt == doubt]
        sites = sorted({value.site for value in certain})
        for site in rng.sample(sites, len(sites)):
            at_site = [value for value in certain if value.site == site]
            for value in rng.sample(at_site, len(at_site)):
                new = value.rewriter.changed(rng)
                if new is not None:
                    return SelectedChange(value=value, new=new)
    return None


def can_end_with_assertion(function: FunctionNode) -> bool:
    """Whether an assertion at its end would run; not in a generator."""
    return not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function.body))


def final_assertion(
    source: source_text.SourceText, function: FunctionNode, rng: Random, *, fails: bool
) -> list[source_text.SourceEdit]:
    """Edits that add an assertion before each `return` and after the last statement."""
    edits: list[source_text.SourceEdit] = []
    for node in own_nodes(function.body):
        if isinstance(node, ast.Return):
            at = source.span(node).start
            text = f"{_equality_assertion(rng, fails=fails)}; "
            edits.append(source_text.SourceEdit(span=source_text.SourceSpan(at, at), text=text))
    last = function.body[-1]
    if isinstance(last, ast.Return):
        return edits
    at = source.span(last).end
    text = f"; {_equality_assertion(rng, fails=fails)}"
    if isinstance(last, _COMPOUND):
        before = source.text[: source.span(function.body[0]).start]
        indentation = before[len(before.rstrip(" \t\f")) :]
        text = source.line_end(last.lineno) + indentation + text[2:]
    return [*edits, source_text.SourceEdit(span=source_text.SourceSpan(at, at), text=text)]


def _equality_assertion(rng: Random, *, fails: bool) -> str:
    value = rng.choice((rng.randrange(40), "".join(rng.sample("aeilnorst", 5))))
    other = other_value(value, rng) if fails else value
    return f"assert {disguise.write_disguised(value)} == {disguise.write_disguised(other)}"


_DISGUISED_RANK, _CHANGED_RANK = 1, 2


def uncontrolled_reasons(source: str, path: str) -> dict[str, str | None]:
    """Why no value of each test function of a file can be changed; `None` if one can.

    Raises:
        InputError: this interpreter cannot compile the text.
    """
    functions = _test_functions(parsed_file.parse_file(source, path), {})
    return {name: None if found.values else _NO_VALUE for name, found in functions.items()}


def functions_by_tests(source: str, path: str, tests: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The node ids of a file by the function that controls them.

    Raises:
        InputError: this interpreter cannot compile the text.
    """
    selected = parsed_file.parse_file(source, path).functions.select(tests)
    return {name: found.tests for name, found in selected.items()}


def rewrite_tests(
    source: str,
    path: str,
    tests: Iterable[str],
    rng: Random,
    uncertain: Collection[str] = (),
    *,
    listed: Iterable[str] | None = None,
) -> records.RewrittenTestFile:
    """Make selected tests expect other values, and write all constants of a file in one form.

    Args:
        source: The text of the file.
        path: Its path, for messages and the record.
        tests: Selected node ids. In each function with selected tests one expected value is
            changed, or one for each selected set of parameters if these decide.
        rng: The only source of chance: equal states give equal texts.
        uncertain: Functions that correct code passed although a value was changed. They get a
            failing assertion at their end.
        listed: Node ids that must be found in a run that hides its expectations: comments,
            docstrings and messages lose their text, and rows get random ids if `renamed` can
            give the new ids of all listed tests of a function.
    """
    tests = list(tests)
    if listed is not None:
        source = disguise.without_comments(source_text.parse_source(source, path))
        source = disguise.without_prose(source_text.parse_source(source, path))
    file = parsed_file.parse_file(source, path)
    selected = file.functions.select(tests)
    functions = _test_functions(file, selected)
    chosen = {
        name: () if name in uncertain else select_changes(functions[name], found.cases, rng)
        for name, found in selected.items()
    }
    unchanged = [functions[name] for name, found in chosen.items() if not found]
    weak = tuple(_uncontrolled(function, uncertain) for function in unchanged)
    edits = disguise.disguised_constants(file.source)
    for function in functions.values():
        for value in function.values:
            if (text := value.rewriter.disguised(rng)) is not None:
                edits.append(
                    source_text.edit_keeping_lines(
                        file.source, value.span, text, rank=_DISGUISED_RANK
                    )
                )
    changed: list[records.ChangedExpectation] = []
    for name, found in chosen.items():
        for one in found:
            value, text, rank = one.value, one.new.text, _CHANGED_RANK
            if value.span.start == value.span.end or text[-1:] not in (")", "]", "}"):
                edits.append(source_text.SourceEdit(span=value.span, text=text, rank=rank))
            else:
                edits.append(
                    source_text.edit_keeping_lines(file.source, value.span, text, rank=rank)
                )
            changed.append(
                records.ChangedExpectation(
                    file=path,
                    function=name,
                    line=value.line,
                    kind=value.kind,
                    original=shorten(value.original),
                    replacement=shorten(one.new.display),
                    doubt=value.doubt,
                    row=value.row.index if value.row is not None else None,
                )
            )
    if weak:  # every function gets an assertion, so that weak ones are not recognizable
        failing = {one.function for one in weak}
        for function in functions.values():
            if function.node is not None and can_end_with_assertion(function.node):
                fails = function.name in failing
                edits += final_assertion(file.source, function.node, rng, fails=fails)
    ids = OpaqueIds()
    if listed is not None:
        ids = opaque_ids(file, functions.values(), {*tests, *listed}, rng)
    for name, function in functions.items():
        if name not in ids.functions:
            edits += (edit for table in function.tables for edit in table.edits())
    return records.RewrittenTestFile(
        source=source_text.apply_edits(file.source.text, [*edits, *ids.edits]),
        changed=tuple(changed),
        weakly_controlled=weak,
        renamed=ids.renamed,
    )


def _test_functions(
    file: parsed_file.ParsedFile, selected: Mapping[str, SelectedFunction]
) -> dict[str, parsed_file.ParsedFunction]:
    tests = (one for one in file.functions.functions.values() if one.looks_like_a_test)
    found = {test.name: file.read(test) for test in tests if test.name not in selected}
    return found | {name: file.read_selected(name, one) for name, one in selected.items()}


def _uncontrolled(
    function: parsed_file.ParsedFunction, uncertain: Collection[str]
) -> records.UncontrolledFunction:
    fails, reason = True, _NO_VALUE
    if function.node is None:
        fails, reason = False, _NOT_DEFINED
    elif not can_end_with_assertion(function.node):
        fails, reason = False, _GENERATOR
    elif function.name in uncertain:
        reason = _UNCERTAIN
    elif function.values:
        reason = _NONE_FOR_ALL
    return records.UncontrolledFunction(function=function.name, reason=reason, fails=fails)


def shorten(text: str) -> str:
    """The beginning of a text, safe for terminals and files."""
    plain = text if text.isprintable() else ascii(text)[1:-1]
    return plain if len(plain) <= _LONGEST_TEXT else plain[: _LONGEST_TEXT - 1] + "…"
