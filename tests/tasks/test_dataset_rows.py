import json
import re
import subprocess
import sys

import pytest

from agentbench.core.extras import install_command
from agentbench.errors import InputError, UsageError
from agentbench.tasks import dataset_rows
from agentbench.tasks.dataset_rows import (
    ORIGIN_FILE,
    DatasetRow,
    Rejection,
    SwebenchOrigin,
    origin_json,
    read_origin,
    read_rows,
    task_id_of,
)
from agentbench.tasks.task_file import is_task_id


def test_rejection_names_its_known_parts():
    whole = Rejection(where="a.jsonl:3", instance="x__y-1", field="patch", what="is empty")
    assert str(whole) == "a.jsonl:3: x__y-1: patch: is empty"
    assert str(Rejection(where="a.jsonl", what="is empty")) == "a.jsonl: is empty"


ORIGIN = SwebenchOrigin(
    instance_id="A__b-1",
    repo="A/b",
    fail_to_pass=("t.py::a[x", "t.py::b"),
    pass_to_pass=("[100%]",),
    node_ids={"t.py::a[x": ("t.py::a[x y]", "t.py::a[x z]"), "[100%]": ()},
)


def test_origin_is_read_as_written(tmp_path):
    (tmp_path / ORIGIN_FILE).write_bytes(origin_json(ORIGIN))
    assert read_origin(tmp_path) == ORIGIN


def test_name_is_its_own_id_by_default():
    assert ORIGIN.ids_of("t.py::b") == ("t.py::b",)
    assert ORIGIN.ids_of("t.py::a[x") == ("t.py::a[x y]", "t.py::a[x z]")
    assert ORIGIN.ids_of("[100%]") == ()


def test_task_that_was_not_imported_has_no_origin(tmp_path):
    assert read_origin(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{", "expected JSON: "),
        (b'{"instance_id": "a", "repo": "b"}', "fail_to_pass: is missing"),
        (b'{"schema_version": 2}', "schema_version: 2 is not 1"),
    ],
)
def test_invalid_origin_is_refused_with_field(tmp_path, content, what):
    (tmp_path / ORIGIN_FILE).write_bytes(content)
    with pytest.raises(InputError) as result:
        read_origin(tmp_path)
    assert str(result.value).startswith(f"{tmp_path / ORIGIN_FILE}: ")
    assert what in str(result.value)


def test_unreadable_origin_is_refused(tmp_path):
    (tmp_path / ORIGIN_FILE).mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_origin(tmp_path)


MEASURE = """\
import resource, sys
from pathlib import Path
from agentbench.tasks.dataset_rows import read_rows
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
number = sum(1 for _ in read_rows(Path(sys.argv[1])))
print(number, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_lines_are_numbered_from_one(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"a": 1}\n\n  \n{"a": 2}')
    assert list(read_rows(path)) == [
        DatasetRow(where=f"{path}:1", value={"a": 1}),
        DatasetRow(where=f"{path}:4", value={"a": 2}),
    ]


def test_large_file_is_read_in_parts(tmp_path):
    path = tmp_path / "in.jsonl"
    line = json.dumps({"patch": "x" * 500_000}) + "\n"
    with path.open("w") as target:
        target.writelines(line for _ in range(400))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    number, kib = map(int, done.stdout.split())
    assert number == 400
    assert kib < 50_000, "of a file of 200 MB"


def test_overlong_line_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_rows, "_MAX_LINE_BYTES", 64)
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"a": "{"x" * 500}"}}\n{{"a": 2}}\n{{"b": "{"x" * 500}"}}')
    first, second, third = read_rows(path)
    assert (first.where, third.where) == (f"{path}:1", f"{path}:3")
    assert isinstance(first, Rejection)
    assert isinstance(third, Rejection)
    assert second.value == {"a": 2}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ([{"a": 1}, {"a": 2}], ["entry 1", "entry 2"]),
        ({"x": {"a": 1}}, ["entry 1"]),
        ({"instance_id": "x", "a": 1}, ["entry 1"]),
    ],
)
def test_a_document_is_a_list_a_dictionary_or_one_entry(tmp_path, document, found):
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document))
    assert [row.where for row in read_rows(path)] == [f"{path}: {one}" for one in found]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is not JSON: "),
        ("[1", "is not JSON: "),
        ("7", "expected a list of objects, found 7"),
        ("\ufeff[]", "begins with a byte order mark; save it as UTF-8 without one"),
    ],
)
def test_document_without_entries_is_rejected(tmp_path, text, what):
    path = tmp_path / "in.json"
    path.write_text(text)
    (refusal,) = read_rows(path)
    assert refusal.where == str(path)
    assert refusal.what.startswith(what)


def test_entry_that_is_no_object_is_rejected(tmp_path):
    path = tmp_path / "in.json"
    path.write_text('[{"a": 1}, 5]')
    first, second = read_rows(path)
    assert first.value == {"a": 1}
    assert str(second) == f"{path}: entry 2: expected an object, found 5"


def test_too_large_document_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_rows, "_MAX_DOCUMENT_BYTES", 8)
    path = tmp_path / "in.json"
    path.write_text('[{"a": 1}]')
    (refusal,) = read_rows(path)
    assert refusal.what.endswith("save it as .jsonl, one entry per line")


def test_rows_of_parquet_are_numbered(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "in.parquet"
    values = [{"a": str(number), "b": ["x", "y"]} for number in range(40)]
    parquet.write_table(pa.Table.from_pylist(values), path)
    found = list(read_rows(path))
    assert [row.value for row in found] == values
    assert found[39].where == f"{path}: row 40"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"{}", b"PAR1" + bytes(100) + b"PAR1"])
def test_malformed_parquet_is_rejected(tmp_path, content):
    path = tmp_path / "in.parquet"
    path.write_bytes(content)
    (refusal,) = read_rows(path)
    assert refusal.where == str(path)
    assert refusal.what.startswith("is not Parquet: ")
    assert "\n" not in refusal.what


def test_damaged_parquet_gives_first_rows(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "in.parquet"
    table = pa.Table.from_pylist([{"a": f"{number:0999}"} for number in range(64)])
    parquet.write_table(table, path, row_group_size=16, use_dictionary=False)
    place = parquet.read_metadata(path).row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 64] = b"\xff" * 64
    path.write_bytes(content)
    found = list(read_rows(path))
    assert found[:32] == [
        DatasetRow(where=f"{path}: row {number + 1}", value={"a": f"{number:0999}"})
        for number in range(32)
    ]
    (refusal,) = found[32:]
    assert refusal.where == f"{path}: after row 32"
    assert refusal.what.startswith("is not Parquet: ")


def test_parquet_without_reader_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("agentbench.core.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=re.escape(install_command("swebench"))):
        list(read_rows(tmp_path / "in.parquet"))


def test_folder_is_an_input_error(tmp_path):
    (tmp_path / "in.jsonl").mkdir()
    with pytest.raises(InputError, match=r"in\.jsonl: cannot be read: Is a directory"):
        list(read_rows(tmp_path / "in.jsonl"))


@pytest.mark.parametrize(
    ("instance_id", "task_id"),
    [
        ("scikit-learn__scikit-learn-10297", "scikit-learn__scikit-learn-10297"),
        ("Project-MONAI__MONAI-1010", "project-monai__monai-1010"),
        ("a__b.1f2.func_pm/x~1", "a__b.1f2.func_pm-x-1"),
        ("\u00c4x", "-x"),
    ],
)
def test_instance_id_becomes_valid_task_id(instance_id, task_id):
    assert task_id_of(instance_id) == task_id
    assert is_task_id(task_id) is not task_id.startswith("-")
