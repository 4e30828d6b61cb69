import pytest

from agentbench.errors import InputError
from agentbench.tasks.dataset_rows import ORIGIN_FILE, SwebenchOrigin, origin_json, read_origin

ORIGIN = SwebenchOrigin(
    instance_id="A__b-1",
    repo="A/b",
    fail_to_pass=("t.py::a[x", "t.py::b"),
    pass_to_pass=("[100%]",),
    node_ids={"t.py::a[x": ("t.py::a[x y]", "t.py::a[x z]"), "[100%]": ()},
)


def test_it_is_read_as_it_was_written(tmp_path):
    (tmp_path / ORIGIN_FILE).write_bytes(origin_json(ORIGIN))
    assert read_origin(tmp_path) == ORIGIN


def test_a_name_is_its_own_id_where_nothing_else_is_known():
    assert ORIGIN.ids_of("t.py::b") == ("t.py::b",)
    assert ORIGIN.ids_of("t.py::a[x") == ("t.py::a[x y]", "t.py::a[x z]")
    assert ORIGIN.ids_of("[100%]") == ()


def test_a_task_that_was_not_imported_has_none(tmp_path):
    assert read_origin(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{", "Invalid JSON"),
        (b'{"instance_id": "a", "repo": "b"}', "fail_to_pass: is missing"),
        (b'{"schema_version": 2}', "schema_version: 2 is not 1"),
    ],
)
def test_a_wrong_one_is_refused_with_file_and_field(tmp_path, content, what):
    (tmp_path / ORIGIN_FILE).write_bytes(content)
    with pytest.raises(InputError) as told:
        read_origin(tmp_path)
    assert str(told.value).startswith(f"{tmp_path / ORIGIN_FILE}: ")
    assert what in str(told.value)


def test_one_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / ORIGIN_FILE).mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_origin(tmp_path)
