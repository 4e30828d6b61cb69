"""Changing what tests expect, so that code which only seems to be right is found out."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from random import Random

from agentbench.stages.verification.mutation.choice import Chosen, choose
from agentbench.stages.verification.mutation.comments import without_comments
from agentbench.stages.verification.mutation.constants import disguised_constants
from agentbench.stages.verification.mutation.edits import Edit, apply_edits, replaced
from agentbench.stages.verification.mutation.functions import Selected
from agentbench.stages.verification.mutation.opaque_ids import OpaqueIds, opaque_ids
from agentbench.stages.verification.mutation.prose import without_prose
from agentbench.stages.verification.mutation.read_file import ReadFile, ReadFunction, read_file
from agentbench.stages.verification.mutation.record import (
    ControlledFunction,
    Mutation,
    WeaklyControlled,
    describe_change,
    describe_value,
)
from agentbench.stages.verification.mutation.source_text import parse_source
from agentbench.stages.verification.mutation.weak_control import (
    can_end_with_assertion,
    final_assertion,
)

_KEPT, _CHANGED = 1, 2
_NO_VALUE = "it compares with no value that could be changed with certainty"
_NONE_FOR_ALL = "no value decides all of its selected cases without giving them other ids"
_UNCERTAIN = "it passed, or could have, in spite of a changed value"
_NOT_HERE = "the file does not define it"
_GENERATOR = "it is a generator, in which an assertion at the end is not reached"


def expected_values(source: str, path: str) -> tuple[ControlledFunction, ...]:
    """What each test function of a file expects, and where nothing can be changed, why.

    Raises:
        InputError: The text is no Python that this interpreter can compile.
    """
    file = read_file(source, path)
    return tuple(
        ControlledFunction(
            function=function.name,
            values=tuple(describe_value(value) for value in function.values),
            reason=None if function.values else _NO_VALUE,
        )
        for function in _test_functions(file, {}).values()
    )


def functions_by_tests(source: str, path: str, tests: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Node ids of a file by the function that they are controlled with, for `halves`.

    Raises:
        InputError: The text is no Python that this interpreter can compile.
    """
    selected = read_file(source, path).functions.select(tests)
    return {name: found.tests for name, found in selected.items()}


def mutate(
    source: str,
    path: str,
    tests: Iterable[str],
    rng: Random,
    uncertain: Collection[str] = (),
    *,
    listed: Iterable[str] | None = None,
) -> Mutation:
    """Make selected tests expect something else, and disguise every constant of the file.

    Args:
        source: The text of the file.
        path: Its path, for messages and the record.
        tests: Node ids of tests in it. A function of which one test is selected has one
            expected value changed; one of each selected set of parameters if they decide it.
        rng: The only source of chance: the same state gives the same text.
        uncertain: Functions that code which is right was seen to pass in spite of a change.
            They get an assertion at their end that fails.
        listed: Node ids of tests in it that are to be found again, in a run that must not tell
            what it expects: comments, docstrings and messages lose their text, and rows get
            random ids where `renamed` can say for all listed tests of a function what they are
            called then. The functions that keep theirs are in `visible_ids`.

    Raises:
        InputError: The text is no Python that this interpreter can compile.
    """
    tests = list(tests)
    file = _read(source, path, blind=listed is not None)
    selected = file.functions.select(tests)
    functions = _test_functions(file, selected)
    chosen = {
        name: () if name in uncertain else choose(functions[name], found.cases, rng)
        for name, found in selected.items()
    }
    weak = tuple(_weak(functions[name], uncertain) for name, found in chosen.items() if not found)
    edits = [
        *disguised_constants(file.source, rng),
        *_disguised_values(file, functions.values(), rng),
        *(edit for found in chosen.values() for edit in _changes(file, found)),
        *(_final_assertions(file, functions.values(), weak, rng) if weak else ()),
    ]
    ids = OpaqueIds()
    if listed is not None:
        ids = opaque_ids(file, functions.values(), {*tests, *listed}, rng)
    edits += _written_ids(one for name, one in functions.items() if name not in ids.functions)
    return Mutation(
        path=path,
        source=apply_edits(file.source.text, [*edits, *ids.edits]),
        changed=tuple(
            describe_change(name, one.value, one.new)
            for name, found in chosen.items()
            for one in found
        ),
        weakly_controlled=weak,
        renamed=ids.renamed,
        visible_ids=tuple(sorted(ids.visible)),
    )


def _read(source: str, path: str, *, blind: bool) -> ReadFile:
    if blind:
        source = without_comments(parse_source(source, path))
        source = without_prose(parse_source(source, path))
    return read_file(source, path)


def _test_functions(file: ReadFile, selected: Mapping[str, Selected]) -> dict[str, ReadFunction]:
    found = {
        name: file.read(function)
        for name, function in file.functions.functions.items()
        if function.looks_like_a_test and name not in selected
    }
    return found | {name: file.read_selected(name, one) for name, one in selected.items()}


def _disguised_values(
    file: ReadFile, functions: Iterable[ReadFunction], rng: Random
) -> Iterator[Edit]:
    for function in functions:
        for value in function.values:
            text = value.way.kept(rng)
            if text is not None:
                yield replaced(file.source, value.span, text, rank=_KEPT)


def _written_ids(functions: Iterable[ReadFunction]) -> Iterator[Edit]:
    for function in functions:
        for table in function.tables:
            yield from table.edits()


def _changes(file: ReadFile, chosen: Iterable[Chosen]) -> Iterator[Edit]:
    for one in chosen:
        span = one.value.span
        if span.start == span.end or not one.new.text.strip() or one.new.text[-1:] not in ")]}":
            yield Edit(span=span, text=one.new.text, rank=_CHANGED)
        else:
            yield replaced(file.source, span, one.new.text, rank=_CHANGED)


def _weak(function: ReadFunction, uncertain: Collection[str]) -> WeaklyControlled:
    fails, reason = True, _NO_VALUE
    if function.node is None:
        fails, reason = False, _NOT_HERE
    elif not can_end_with_assertion(function.node):
        fails, reason = False, _GENERATOR
    elif function.name in uncertain:
        reason = _UNCERTAIN
    elif function.values:
        reason = _NONE_FOR_ALL
    return WeaklyControlled(function=function.name, reason=reason, fails=fails)


def _final_assertions(
    file: ReadFile, functions: Iterable[ReadFunction], weak: Iterable[WeaklyControlled], rng: Random
) -> Iterator[Edit]:
    """An assertion at the end of every function, as one in the weak ones alone would show."""
    failing = {one.function for one in weak}
    for function in functions:
        if function.node is not None and can_end_with_assertion(function.node):
            fails = function.name in failing
            yield from final_assertion(file.source, function.node, rng, fails=fails)
