"""Node ids that tell nothing of a test's values, for code that reads the id of its own test."""

import ast
import string
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from agentbench.stages.verification.mutation.cases import Case, as_joined, cases_by_name
from agentbench.stages.verification.mutation.definers import Definers, definers
from agentbench.stages.verification.mutation.edits import Edit, replaced
from agentbench.stages.verification.mutation.functions import split_id
from agentbench.stages.verification.mutation.names import name_of
from agentbench.stages.verification.mutation.own_ids import readers_of_own_ids
from agentbench.stages.verification.mutation.parametrize import Table, parametrized
from agentbench.stages.verification.mutation.read_file import ReadFile, ReadFunction
from agentbench.stages.verification.mutation.source_text import SourceText, Span

_RANK = 3
_LENGTH = 10


@dataclass(slots=True, kw_only=True)
class OpaqueIds:
    """What was done to the ids of a file."""

    edits: list[Edit] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    """Those whose ids are others now."""
    renamed: dict[str, str] = field(default_factory=dict)
    visible: set[str] = field(default_factory=set)
    """Those that keep the ids of listed tests."""


@dataclass(slots=True, kw_only=True)
class _Listed:
    """Listed tests that have a part in brackets, by the function that surely decides them."""

    tests: dict[str, list[str]] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """The functions that may decide the others."""
    unclear_names: set[str] = field(default_factory=set)
    """Their names without those of classes, by which a function elsewhere may be meant."""


def opaque_ids(
    file: ReadFile, functions: Iterable[ReadFunction], tests: Collection[str], rng: Random
) -> OpaqueIds:
    """Give random ids to the rows of each function of which all listed tests are found again."""
    sure = definers(file.source.tree, file.functions)
    listed = _listed(file, tests, sure)
    readers = readers_of_own_ids(file.source.tree, file.functions.functions.values())
    done = OpaqueIds(visible=listed.unclear | listed.tests.keys())
    tokens = _tokens(rng)
    for function in functions:
        name, own = function.name, listed.tests.get(function.name, [])
        if not sure.is_sure(name) or _last(name) in listed.unclear_names or name in readers:
            continue
        known = cases_by_name(function.tables, _by_owner(own)) if _can_be_written(function) else {}
        if known:
            new = [[next(tokens) for _ in table.rows] for table in as_joined(function.tables)]
            done.edits += _edits(file.source, as_joined(function.tables), new)
            done.renamed |= {test: _renamed(test, known, new) for test in own}
            done.functions.add(name)
            done.visible.discard(name)
    return done


def _listed(file: ReadFile, tests: Collection[str], sure: Definers) -> _Listed:
    listed = _Listed()
    for test in sorted(set(tests)):
        name, case = split_id(test)
        definer = sure.find(name) if test.endswith("]") else None
        if case is None:
            continue
        if definer is not None:
            listed.tests.setdefault(definer, []).append(test)
        else:
            found = file.functions.find(name)
            listed.unclear.add(found.name if found is not None else name)
            listed.unclear_names.add(_last(name))
    return listed


def _can_be_written(function: ReadFunction) -> bool:
    """Whether all decorators that make cases are read, and are pytest's own."""
    calls = parametrized(function.node) if function.node is not None else []
    return len(calls) == len(function.tables) and all(
        isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "mark"
        for call in calls
    )


def _by_owner(tests: Iterable[str]) -> Collection[set[str]]:
    """The cases of each class that has the function."""
    found: dict[str, set[str]] = {}
    for test in tests:
        name, case = split_id(test)
        found.setdefault(name, set()).add(case or "")
    return found.values()


def _edits(
    source: SourceText, tables: Iterable[Table], new: Iterable[Sequence[str]]
) -> Iterator[Edit]:
    for table, ids in zip(tables, new, strict=True):
        for row, id_ in zip(table.rows, ids, strict=True):
            if row.own_id is not None:
                yield replaced(source, source.span(row.own_id), f"({id_!r})", rank=_RANK)
        if table.ids is not None:
            yield replaced(source, source.span(table.ids), f"{[*ids]!r}", rank=_RANK)
        else:
            at = source.span(table.call).end - 1
            last = max(source.span(node).end for node in (*table.call.args, *_named(table.call)))
            comma = "" if "," in source.text[last:at] else ", "
            yield Edit(span=Span(at, at), text=f"{comma}ids={[*ids]!r}")


def _named(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords]


def _renamed(test: str, known: Mapping[str, Case], new: Sequence[Sequence[str]]) -> str:
    _, case = split_id(test)
    assert case is not None  # only such tests are listed
    ids = [column[row] for column, row in zip(new, known[case].rows, strict=True)]
    return f"{test.removesuffix(f'[{case}]')}[{'-'.join(ids)}]"


def _tokens(rng: Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        token = "".join(rng.choices(string.ascii_lowercase, k=_LENGTH))
        if token not in seen:
            seen.add(token)
            yield token


def _last(name: str) -> str:
    return name.rpartition("::")[2]
