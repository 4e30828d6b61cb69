import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.tasks.writing import write_test_lists


@pytest.fixture
def task_file(tmp_path):
    return tmp_path / "task.toml"


def rewritten(task_file, before, **lists):
    task_file.write_bytes(before.encode())
    write_test_lists(task_file, **lists)
    return task_file.read_bytes().decode()


def test_comments_order_and_line_ends_of_the_rest_stay(task_file):
    before = "# why\r\nid = 'x'  # name\r\n\r\n[tests]\r\nfail_to_pass = []\r\n[agent]\r\na = 1\r\n"
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=None)
    assert after.startswith("# why\r\nid = 'x'  # name\r\n\r\n[tests]\r\nfail_to_pass = [")
    assert after.endswith("]\r\n[agent]\r\na = 1\r\n")


def test_pass_to_pass_stays_where_none_is_given_and_is_replaced_where_a_list_is(task_file):
    before = '[tests]\npass_to_pass = "baseline"\n'
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=None)
    assert tomllib.loads(after)["tests"]["pass_to_pass"] == "baseline"
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=[])
    assert tomllib.loads(after)["tests"] == {"fail_to_pass": ["t.py::a"], "pass_to_pass": []}


@pytest.mark.parametrize(
    "before",
    [
        "id = 'x'\n",
        "id = 'x'\n[agent]\na = 1\n",
        "tests.command = 'pytest'\n[agent]\na = 1\n",
        "tests = { command = 'pytest' }\n[agent]\na = 1\n",
        "[tests]\nfail_to_pass = [\n  'old', # why\n]\n[agent]\na = 1\n",
        "[tests]\nfail_to_pass = 'wrong'",
    ],
)
def test_every_way_to_write_the_table_is_understood(task_file, before):
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=["t.py::b"])
    wanted = tomllib.loads(before)
    wanted.setdefault("tests", {}).update(fail_to_pass=["t.py::a"], pass_to_pass=["t.py::b"])
    assert tomllib.loads(after) == wanted


def test_nothing_else_is_left_in_the_folder(task_file):
    rewritten(task_file, "", fail_to_pass=[], pass_to_pass=None)
    assert [path.name for path in task_file.parent.iterdir()] == ["task.toml"]


@settings(deadline=None, max_examples=50)
@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_id_survives(tmp_path_factory, ids):
    task_file = tmp_path_factory.mktemp("ids") / "task.toml"
    after = rewritten(task_file, "[tests]\n", fail_to_pass=ids, pass_to_pass=None)
    assert tomllib.loads(after)["tests"]["fail_to_pass"] == ids


def test_what_is_quarantined_is_added_to_what_was_and_seen_again_it_has_the_new_rate(task_file):
    before = (
        '[tests]\nquarantined = [{ id = "t.py::b", rate = 0.5 }, { id = "t.py::c", rate = 0.1 }]\n'
    )
    lists = {"fail_to_pass": ["t.py::a"], "pass_to_pass": None}
    after = rewritten(task_file, before, **lists, quarantined={"t.py::d": 1 / 3, "t.py::c": 0.2})
    assert tomllib.loads(after)["tests"]["quarantined"] == [
        {"id": "t.py::b", "rate": 0.5},
        {"id": "t.py::d", "rate": 0.333},
        {"id": "t.py::c", "rate": 0.2},
    ]


def test_without_flaky_tests_nothing_is_said_of_them(task_file):
    after = rewritten(task_file, "[tests]\n", fail_to_pass=["t.py::a"], pass_to_pass=None)
    assert "quarantined" not in after
