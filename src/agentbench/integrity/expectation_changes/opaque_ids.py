"""Replaces node ids by random ones, so that they do not reveal a test's values."""

import ast
import math
import string
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from random import Random

from agentbench.integrity.expectation_changes.parsed_file import ParsedFile, ParsedFunction
from agentbench.python_source import parametrize
from agentbench.python_source.functions import (
    DefinitionIndex,
    definition_index,
    readers_of_own_ids,
    split_id,
)
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.source_text import (
    SourceEdit,
    SourceSpan,
    SourceText,
    edit_keeping_lines,
)

_MOST_CASES = 5_000
_MOST_UNKNOWN = 500
_MOST_TRIED = 20
_ANYTHING = "\0"  # never in an id, since pytest escapes it
_RANK = 3
_LENGTH = 10


@dataclass(frozen=True, slots=True)
class ParameterCase:
    """One row of each table, in pytest's order of ids."""

    rows: tuple[int, ...]
    parts: tuple[str | None, ...]  # the known parts of the id

    @property
    def name(self) -> str:
        return "-".join(_ANYTHING if part is None else part for part in self.parts)


# The tables in the order of their ids: the decorator next to the function is first.
def _in_id_order(tables: Sequence[parametrize.ParameterTable]) -> list[parametrize.ParameterTable]:
    return list(reversed(tables))


# The case of each bracketed part; empty if a case is uncertain.
def _cases_by_name(
    tables: Sequence[parametrize.ParameterTable], listed: Iterable[Collection[str]]
) -> dict[str, ParameterCase]:
    cases = _cases(tables)
    found = {case.name: case for case in cases}
    if len(found) < len(cases):
        return {}  # pytest numbers equal ids
    listed = list(listed)
    if any(None in case.parts for case in cases):
        return _by_likeness(cases, listed)
    if all(names <= found.keys() and _are_whole(names, found) for names in map(set, listed)):
        return found
    return {}


def _cases(tables: Sequence[parametrize.ParameterTable]) -> list[ParameterCase]:
    columns = [[row.escaped_parts for row in table.rows] for table in _in_id_order(tables)]
    if not columns or math.prod(map(len, columns)) > _MOST_CASES:
        return []
    rows = product(*(range(len(column)) for column in columns))
    ids = (tuple(chain.from_iterable(parts)) for parts in product(*columns))
    return list(map(ParameterCase, rows, ids))


# Names by their only matching case, if every case has a name.
def _by_likeness(
    cases: Sequence[ParameterCase], listed: Sequence[Collection[str]]
) -> dict[str, ParameterCase]:
    names = set(chain.from_iterable(listed))
    if len(names) != len(cases) or len(cases) > _MOST_UNKNOWN:
        return {}
    found: dict[str, ParameterCase] = {}
    for case in cases:
        like = [name for name in names if _is_like(name, case.name.split(_ANYTHING))]
        if len(like) != 1 or like[0] in found:
            return {}
        found[like[0]] = case
    fewest = min(len(case.parts) for case in cases) - 1
    whole = all(any(name.count("-") == fewest for name in one) for one in listed)
    return found if whole else {}


# Whether a name has these parts in order, with the first and the last at its ends.
def _is_like(name: str, pieces: Sequence[str]) -> bool:
    first, *inner, last = pieces if len(pieces) > 1 else [*pieces, ""]
    if len(pieces) == 1:
        return name == first
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in inner:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


# Whether no known case can be another case with an additional part. A part of a fixture, a class or
# a hook is in all cases of a function or in none.
def _are_whole(names: Collection[str], known: Mapping[str, ParameterCase]) -> bool:
    shortest = sorted(names, key=len)[:_MOST_TRIED]
    return any(
        not any(
            len(other) < len(name)
            and _is_like(name, ["", *(part for part in case.parts if part is not None), ""])
            for other, case in known.items()
        )
        for name in shortest
    )


@dataclass(slots=True, kw_only=True)
class OpaqueIds:
    """The changes of the ids of a file."""

    edits: list[SourceEdit] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)  # the functions with new ids
    renamed: dict[str, str] = field(default_factory=dict)


def opaque_ids(
    file: ParsedFile, functions: Iterable[ParsedFunction], tests: Collection[str], rng: Random
) -> OpaqueIds:
    """Give random ids to the rows of each function whose listed tests can all be found again."""
    sure = definition_index(file.source.tree, file.functions)
    listed, unclear = _listed_tests(tests, sure)
    readers = readers_of_own_ids(file.source.tree, file.functions.functions.values())
    done = OpaqueIds()
    tokens = _tokens(rng)
    for function in functions:
        name, own = function.name, listed.get(function.name, [])
        if not sure.is_sure(name) or _last(name) in unclear or name in readers:
            continue
        calls = parametrize.parametrized(function.node) if function.node is not None else []
        # All parametrizing decorators have to be pytest's own, and to be read.
        if len(calls) != len(function.tables) or not all(
            isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "mark"
            for call in calls
        ):
            continue
        by_owner: dict[str, set[str]] = {}  # the cases of each class that has the function
        for test in own:
            owner, case = split_id(test)
            by_owner.setdefault(owner, set()).add(case or "")
        if known := _cases_by_name(function.tables, by_owner.values()):
            tables = _in_id_order(function.tables)
            new = [[next(tokens) for _ in table.rows] for table in tables]
            done.edits += _edits(file.source, tables, new)
            for test in own:
                _, case = split_id(test)
                assert case is not None  # only such tests are listed
                ids = [column[at] for column, at in zip(new, known[case].rows, strict=True)]
                done.renamed[test] = f"{test.removesuffix(f'[{case}]')}[{'-'.join(ids)}]"
            done.functions.add(name)
    return done


# The tests with a bracketed part by their certain function, and the names of the others. These
# names are without classes, since they may mean functions elsewhere.
def _listed_tests(
    tests: Collection[str], sure: DefinitionIndex
) -> tuple[dict[str, list[str]], set[str]]:
    listed: dict[str, list[str]] = {}
    unclear: set[str] = set()
    for test in sorted(set(tests)):
        name, case = split_id(test)
        definer = sure.find(name) if test.endswith("]") else None
        if case is None:
            continue
        if definer is not None:
            listed.setdefault(definer, []).append(test)
        else:
            unclear.add(_last(name))
    return listed, unclear


def _edits(
    source: SourceText, tables: Iterable[parametrize.ParameterTable], new: Iterable[Sequence[str]]
) -> Iterator[SourceEdit]:
    for table, ids in zip(tables, new, strict=True):
        for row, id_ in zip(table.rows, ids, strict=True):
            if row.own_id is not None:
                yield edit_keeping_lines(source, source.span(row.own_id), f"({id_!r})", rank=_RANK)
        if table.ids is not None:
            yield edit_keeping_lines(source, source.span(table.ids), f"{[*ids]!r}", rank=_RANK)
        else:
            at = source.span(table.call).end - 1
            last = parametrize.last_argument_end(source, table.call)
            comma = "" if "," in source.text[last:at] else ", "
            yield SourceEdit(span=SourceSpan(at, at), text=f"{comma}ids={[*ids]!r}")


def _tokens(rng: Random) -> Iterator[str]:
    known: set[str] = set()
    while True:
        token = "".join(rng.choices(string.ascii_lowercase, k=_LENGTH))
        if token not in known:
            known.add(token)
            yield token


def _last(name: str) -> str:
    return name.rpartition("::")[2]
