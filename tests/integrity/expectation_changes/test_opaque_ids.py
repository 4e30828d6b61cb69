import ast
from collections import Counter
from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.integrity.expectation_changes.opaque_ids import _cases_by_name
from agentbench.python_source.parametrize import ParameterTable, TableRow

Parts: TypeAlias = tuple[str, ...]
Ids: TypeAlias = list[Parts]

PARTS = st.text(alphabet="ab-1_", max_size=4)
ROWS = st.integers(1, 2).flatmap(
    lambda n: st.lists(st.tuples(*[PARTS] * n), min_size=1, max_size=4)
)
TABLES = st.lists(ROWS, min_size=1, max_size=3)


def table(rows: list[tuple[str | None, ...]]) -> ParameterTable:
    call = ast.Call(func=ast.Name(id="parametrize"), args=[], keywords=[])
    found = [TableRow(values=(), parts=row, fixed=False) for row in rows]
    return ParameterTable(names=(), rows=tuple(found), ids_at=None, call=call, ids=None)


def known(tables: list[Ids], listed: list[set[str]]) -> dict[str, tuple[int, ...]]:
    found = _cases_by_name([table(list(rows)) for rows in reversed(tables)], listed)
    return {name: case.rows for name, case in found.items()}


def partly_known(tables: list[Ids], data: st.DataObject) -> list[ParameterTable]:
    hidden = [
        [tuple(part if data.draw(st.booleans()) else None for part in row) for row in rows]
        for rows in tables
    ]
    return [table(rows) for rows in reversed(hidden)]


def numbered(ids: list[str]) -> list[str]:
    counts, done, given = Counter(ids), list(ids), Counter[str]()
    for at, id_ in enumerate(ids):
        if counts[id_] > 1:
            start = f"{id_}_" if id_[-1:].isdigit() else id_
            while f"{start}{given[id_]}" in done:
                given[id_] += 1
            done[at] = f"{start}{given[id_]}"
            given[id_] += 1
    return done


def as_pytest_names(tables: list[Ids]) -> dict[tuple[int, ...], str]:
    columns = [numbered(["-".join(row) for row in rows]) for rows in tables]
    rows = product(*(range(len(column)) for column in columns))
    return {at: "-".join(ids) for at, ids in zip(rows, product(*columns), strict=True)}


@settings(max_examples=150, deadline=None)
@given(TABLES, st.data())
def test_name_is_never_taken_for_another_case(tables: list[Ids], data: st.DataObject):
    truth = as_pytest_names(tables)
    listed = set(data.draw(st.lists(st.sampled_from(sorted(truth.values())), min_size=1)))
    found = known(tables, [listed])
    assert all(truth[rows] == name for name, rows in found.items() if name in listed)


@settings(max_examples=150, deadline=None)
@given(TABLES, st.data())
def test_what_is_not_known_is_told_from_the_rest_or_not_at_all(
    tables: list[Ids], data: st.DataObject
):
    truth = as_pytest_names(tables)
    found = _cases_by_name(partly_known(tables, data), [set(truth.values())])
    assert all(truth[case.rows] == name for name, case in found.items())


@settings(max_examples=150, deadline=None)
@given(TABLES, st.data())
def test_part_that_is_not_known_of_is_noticed(tables: list[Ids], data: st.DataObject):
    at = data.draw(st.integers(0, len(tables)))
    more: list[Ids] = [*tables[:at], data.draw(ROWS), *tables[at:]]
    truth = as_pytest_names(more)
    listed = set(data.draw(st.lists(st.sampled_from(sorted(truth.values())), min_size=1)))
    hidden = partly_known(tables, data)
    for seen in (listed, set(truth.values())):
        assert known(tables, [seen]) == {}
        assert _cases_by_name(hidden, [seen]) == {}


@pytest.mark.parametrize(
    ("tables", "listed", "count"),
    [
        ([[("1",), ("-1",)]], {"1", "-1"}, 2),
        ([[("1",), ("-1",)]], {"-1"}, 0),
        ([[("a", "b"), ("c", "d")]], set(), 2),
        ([[("a", "b"), ("c", "d")]], {"a-b", "other"}, 0),
        ([[("a",), ("a",)]], {"a0", "a1"}, 0),
        ([[("a",), ("a-b",)], [("b-c",), ("c",)]], {"a-b-c", "a-c", "a-b-b-c"}, 0),
        ([[(str(n),) for n in range(80)]] * 2, set(), 0),
        ([], {"a"}, 0),
    ],
)
def test_what_is_known_for_sure(tables: list[Ids], listed: set[str], count: int):
    assert len(known(tables, [listed] if listed else [])) == count


def test_each_class_must_show_that_nothing_is_missing():
    tables: list[Ids] = [[("1",), ("-1",)]]
    assert known(tables, [{"1"}, {"1", "-1"}])
    assert not known(tables, [{"1"}, {"-1"}])


def test_rows_are_told_by_what_is_known_of_them():
    rows: list[tuple[str | None, ...]] = [(None, "a"), (None, "b"), ("c", None)]
    names = {"thing0-a", "thing1-b", "c-thing2"}
    found = _cases_by_name([table(rows)], [names])
    assert {name: case.rows for name, case in found.items()} == {
        "thing0-a": (0,),
        "thing1-b": (1,),
        "c-thing2": (2,),
    }
    assert not _cases_by_name([table(rows)], [names - {"c-thing2"}])
    assert not _cases_by_name([table(rows)], [{f"x-{name}" for name in names}])
