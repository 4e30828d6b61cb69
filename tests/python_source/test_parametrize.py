import ast

import pytest

from agentbench.python_source.parametrize import ParameterTable, tables
from agentbench.python_source.scopes import module_scope
from agentbench.python_source.source_text import apply_edits, parse_source


def table(arguments: str, before: str = "") -> tuple[ParameterTable, str]:
    text = f"{before}\n@pytest.mark.parametrize({arguments})\ndef test(a, b): ...\n"
    source = parse_source(text, "t.py")
    function = source.tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    (found,) = tables(source, function, module_scope(source.tree))
    return found, apply_edits(text, found.edits()).splitlines()[-2]


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ("[(1, 'x'), (-2.5, None)]", ["1-x", "-2.5-None"]),
        ("[([1], {}), ((), int)]", ["a0-b0", "a1-int"]),
        ("[(N * 2, b'raw'), (True, 'a' 'b')]", ["6-raw", "True-ab"]),
        ("[(Decimal('1'), 2), (f(), 1)]", ["a0-2", None]),
        ("[('x' * 101, 1), ('x' * 9, 1)]", [None, "xxxxxxxxx-1"]),
        ("[(b'\\xff', 1), (1j, 1)]", [None, None]),
        ("[pytest.param(1, 2, id='own'), (1, 2)]", ["own", "1-2"]),
        ("[pytest.param(1, 2, id=own), pytest.param(1, 2, **more)]", [None, None]),
        ("[(b'x' * 101, 1), (b'x' * 9, 1)]", [None, "xxxxxxxxx-1"]),
        ("[(1, 2), (3, 4)], ids=['x', None]", ["x", "3-4"]),
        ("[(1, 2), (3, 4)], ids=[0.5, f'x']", [None, None]),
        ("[(1, 2), (3, 4)], ids=[*more, 'x']", [None, None]),
        ("[(1, 2), (3, 4)], ids='xy'", [None, None]),
        ("[(1, 2), (3, 4)], ids=[]", ["1-2", "3-4"]),
    ],
)
def test_ids_are_those_of_pytest(rows: str, ids: list[str | None]):
    found, _ = table(f"'a, b', {rows}", before="N = 3")
    assert [row.id for row in found.rows] == ids


def test_explicit_ids_are_added_if_values_would_change_them():
    found, line = table("'a,b', [(1, 'x'), (f(), 2)]")
    assert line == "@pytest.mark.parametrize('a,b', [(1, 'x'), (f(), 2)], ids=['1-x', None])"
    assert found.keeps_id(0, found.rows[0].values[1])
    assert not found.keeps_id(1, found.rows[1].values[1])


@pytest.mark.parametrize(
    "arguments",
    ["'a,b', [(1, 2)], ids=['x']", "'a,b', [(1, 2)], ids=str", "'a,b', ([(1, 2)])"],
)
def test_ids_are_not_written_where_there_are_some_or_brackets(arguments: str):
    found, line = table(arguments)
    assert line == f"@pytest.mark.parametrize({arguments})"
    assert found.keeps_id(0, found.rows[0].values[1]) == ("'x'" in arguments)


def test_a_table_of_the_module_is_read_if_only_one_function_uses_it():
    found, _ = table("'a,b', ROWS", before="ROWS = [(1, 2), (3, 4)]")
    assert len(found.rows) == 2
    with pytest.raises(ValueError, match="not enough values"):
        table("'a,b', ROWS", before="ROWS = [(1, 2)]\nprint(ROWS)")


def test_a_table_with_arguments_from_elsewhere_is_not_read():
    for more in ("indirect=True", "**more", "*more"):
        with pytest.raises(ValueError, match="not enough values"):
            table(f"'a,b', [(1, 2)], {more}")


def test_known_parts_of_an_id_stay():
    found, _ = table("'a,b', [(f(), 'x'), (1, 2)]")
    assert [row.parts for row in found.rows] == [(None, "x"), ("1", "2")]


def test_rows_are_found_by_the_node_id():
    found, _ = table("'a,b', [('x', 1), ('é', 2), ('-', 3)]")
    assert found.rows_of(["x-1"]) == [0]
    assert found.rows_of(["\\xe9-2", "x-1"]) == [0, 1]
    assert found.rows_of(["more-x-1-other"]) == [0]
    assert found.rows_of(["x-1", "unknown"]) == []
    assert found.rows_of([None]) == [0, 1, 2]
