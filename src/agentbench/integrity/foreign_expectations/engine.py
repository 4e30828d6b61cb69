"""Makes selected tests of a file in another language expect other values."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.engine import shorten
from agentbench.integrity.foreign_expectations.literals import NewText, displayed
from agentbench.integrity.foreign_expectations.model import (
    UNCERTAIN,
    ExpectedLiteral,
    ForeignFile,
    ForeignLanguage,
)
from agentbench.integrity.foreign_expectations.syntax import ByteEdit, apply_edits
from agentbench.integrity.records import (
    ChangedExpectation,
    RewrittenTestFile,
    UncontrolledFunction,
    ValueKind,
)
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.node_ids import name_in_file, node_id_of

_NO_VALUE = "it compares with no value that could be changed with certainty"
_NO_OWN_VALUE = "the value that it expects cannot be told from those of other tests"
_UNCERTAIN = "it passed, or could have, in spite of a changed value"
_NOT_DEFINED = "the file does not define it in a way that can be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    value: ExpectedLiteral
    new: NewText


@dataclass(slots=True, kw_only=True)
class _Function:
    """The changes of one function, and the tests that fail by them."""

    name: str
    tests: Sequence[str]
    changes: list[_Change]
    failing: set[str]
    blocks: set[int]
    """Those that get a failing assertion, where no value is changed."""


class ForeignTests:
    """Changes the tests of a language; see `languages.TestLanguage`."""

    def __init__(self, language: ForeignLanguage) -> None:
        self._language = language

    def decoded(self, content: bytes | None, file: str) -> tuple[str, str]:
        if content is None:
            raise InputError(f"{file}: is in neither the repository nor the hidden tests")
        try:
            return content.decode(), "utf-8"
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: cannot be decoded: {error}") from error

    def functions_by_tests(
        self, source: str, path: str, tests: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        names = [name_in_file(NodeId(test)) for test in tests]
        functions = self._language.read(source, path, names).functions
        return {
            function: tuple(node_id_of(path, name) for name in sorted(found))
            for function, found in functions.items()
        }

    def uncontrolled_reasons(
        self, source: str, path: str, tests: Iterable[str]
    ) -> Mapping[str, str | None]:
        tests = list(tests)
        reasons: dict[str, str | None] = dict.fromkeys(
            self.functions_by_tests(source, path, tests), None
        )
        weak = self.rewrite_tests(source, path, tests, Random(0)).weakly_controlled
        return reasons | {one.function: one.reason for one in weak}

    def rewrite_tests(
        self,
        source: str,
        path: str,
        tests: Iterable[str],
        rng: Random,
        uncertain: Collection[str] = (),
        *,
        listed: Iterable[str] | None = None,
    ) -> RewrittenTestFile:
        selected = {name_in_file(NodeId(test)) for test in tests}
        others = set(map(name_in_file, map(NodeId, listed or ())))
        file = self._language.read(source, path, sorted(selected | others))
        changed, weak = list[ChangedExpectation](), list[UncontrolledFunction]()
        edits, undecided = list[ByteEdit](), list[str]()
        failing_blocks = set[int]()
        for name, names in sorted(file.functions.items()):
            if selected.isdisjoint(names):
                continue
            function = _changed(file, name, sorted(names), rng, is_uncertain=name in uncertain)
            failing_blocks |= function.blocks
            left = [test for test in function.tests if test not in function.failing]
            if not function.changes:
                weak.append(_uncontrolled(file, function, is_uncertain=name in uncertain))
            else:
                weak += (
                    UncontrolledFunction(function=test, reason=_NO_OWN_VALUE, fails=False)
                    for test in left
                )
            if function.failing:
                undecided += left
            for one in function.changes:
                literal = one.value.literal
                edits.append(ByteEdit(start=literal.start, end=literal.end, text=one.new.text))
                changed.append(_record(path, name, one))
        if listed is not None:
            edits += file.comments
        if failing_blocks:  # every test gets an assertion, so that weak ones are not recognizable
            for start, block in file.blocks.items():
                text = self._language.assertion(block, rng, fails=start in failing_blocks)
                edits.append(ByteEdit(start=block.at, end=block.at, text=text))
        return RewrittenTestFile(
            source=apply_edits(file.source.content, edits),
            changed=tuple(changed),
            weakly_controlled=tuple(weak),
            undecided=tuple(node_id_of(path, name) for name in undecided),
        )


def _changed(
    file: ForeignFile, name: str, tests: Sequence[str], rng: Random, *, is_uncertain: bool
) -> _Function:
    """Choose a change for each test of a function, the innermost tests first.

    A test that fails makes those around it fail. A value of an outer test is changed only if no
    test in it has one: it may end before the others run.
    """
    found = _Function(name=name, tests=tests, changes=[], failing=set(), blocks=set())
    for test in sorted(tests, key=lambda one: -len(file.above.get(one, ()))):
        values = () if is_uncertain else file.tests[test].values
        starts = {value.literal.start for value in values}
        if test in found.failing:
            continue
        if all(one.value.literal.start not in starts for one in found.changes):
            change = _one_of(values, rng)
            if change is None:
                continue
            found.changes.append(change)
        found.failing |= {test, *file.above.get(test, ())}
    if not found.changes:
        for test in tests:
            if (block := file.tests[test].block) is not None:
                found.blocks.add(block)
                found.failing |= {test, *file.above.get(test, ())}
    return found


def _one_of(values: Sequence[ExpectedLiteral], rng: Random) -> _Change | None:
    """A value of a random assertion, a certain one first, and a truth last."""

    def rank(value: ExpectedLiteral) -> tuple[bool, bool, int]:
        return value.doubt >= UNCERTAIN, value.literal.kind is ValueKind.TRUTH, value.doubt

    for least in sorted(set(map(rank, values))):
        alike = [value for value in values if rank(value) == least]
        sites = sorted({value.site for value in alike})
        for site in rng.sample(sites, len(sites)):
            at_site = [value for value in alike if value.site == site]
            for value in rng.sample(at_site, len(at_site)):
                new = value.literal.changed(rng, value.distance)
                if new is not None:
                    return _Change(value=value, new=new)
    return None


def _uncontrolled(
    file: ForeignFile, function: _Function, *, is_uncertain: bool
) -> UncontrolledFunction:
    reason = _NO_VALUE
    if is_uncertain:
        reason = _UNCERTAIN
    elif all(file.tests[test].block is None for test in function.tests):
        reason = _NOT_DEFINED
    return UncontrolledFunction(function=function.name, reason=reason, fails=bool(function.failing))


def _record(path: str, function: str, change: _Change) -> ChangedExpectation:
    value = change.value
    return ChangedExpectation(
        file=path,
        function=function,
        line=value.literal.line,
        kind=value.literal.kind,
        original=shorten(value.literal.display),
        replacement=shorten(displayed(change.new.value)),
        doubt=value.doubt,
        row=value.row,
    )
