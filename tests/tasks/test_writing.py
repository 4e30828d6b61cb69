import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.errors import InputError, UsageError
from agentbench.tasks.loading import load_task
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.writing import NewTask, task_toml, write_task, write_test_lists
from tests.fakes.staging import mirrors
from tests.tasks.folders import CODE, FIX, TESTS

WHOLE = """\
schema_version = 1
id = "first"
title = "Last item is \\"lost\\""
tags = ["a", "b"]
[repo]
path = "repo"
[environment]
image = "agentbench/python:3.11"
env = { TZ = "UTC" }
memory_mib = 512
[setup]
commands = ["python -m pip install -e '.[test]'"]
network = false
[tests]
command = "python -m pytest -q"
paths = ["test_code.py"]
fail_to_pass = ["test_code.py::test_last[a\\\\b]"]
pass_to_pass = "baseline"
quarantined = [{ id = "test_code.py::test_odd", rate = 0.25 }]
[agent]
max_steps = 7
"""


@pytest.fixture
def new(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files/code.py").write_text(CODE)
    (tmp_path / "files/link").symlink_to("code.py")
    return NewTask(
        id=TaskId("first"),
        table=parse_task_file(WHOLE, name="task.toml"),
        instruction="The last item is lost.",
        tests_patch=TESTS.encode(),
        solution_patch=FIX.encode(),
        folders={"repo": tmp_path / "files"},
        files={"notes/a.json": b"{}"},
    )


def test_written_folder_is_a_task(new, tmp_path):
    folder = write_task(new, tmp_path / "out")
    assert folder == tmp_path / "out/first"
    task = load_task(folder, mirrors=mirrors())
    assert task.problem.title == 'Last item is "lost"'
    assert task.answer_key.quarantined == ("test_code.py::test_odd",)
    assert (folder / "repo/link").is_symlink()
    assert (folder / "notes/a.json").read_bytes() == b"{}"
    assert [path.name for path in folder.parent.iterdir()] == ["first"]


def test_task_file_is_read_as_written(new):
    assert parse_task_file(task_toml(new.table), name="again") == new.table


def test_existing_task_folder_is_not_changed(new, tmp_path):
    folder = write_task(new, tmp_path / "out")
    (folder / "mine").touch()
    with pytest.raises(UsageError, match="already exists; give another --out, or --replace"):
        write_task(new, tmp_path / "out")
    assert (folder / "mine").exists()
    write_task(new, tmp_path / "out", replace=True)
    assert not (folder / "mine").exists()


def test_invalid_task_is_not_written(new, tmp_path):
    (tmp_path / "files/bad").symlink_to("/etc/passwd")
    with pytest.raises(InputError) as caught:
        write_task(new, tmp_path / "out")
    result = f"{tmp_path}/out/first/repo/bad: is a symlink that leaves repo.path"
    assert caught.value.faults == (result,)
    assert list((tmp_path / "out").iterdir()) == []


def test_unwritable_parent_is_a_usage_error(new, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"):
        write_task(new, tmp_path / "out")


@pytest.fixture
def task_file(tmp_path):
    return tmp_path / "task.toml"


def rewritten(task_file, before, **lists):
    task_file.write_bytes(before.encode())
    write_test_lists(task_file, **lists)
    return task_file.read_bytes().decode()


def test_comments_and_line_ends_are_kept(task_file):
    before = "# why\r\nid = 'x'  # name\r\n\r\n[tests]\r\nfail_to_pass = []\r\n[agent]\r\na = 1\r\n"
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=None)
    assert after.startswith("# why\r\nid = 'x'  # name\r\n\r\n[tests]\r\nfail_to_pass = [")
    assert after.endswith("]\r\n[agent]\r\na = 1\r\n")


def test_lists_stay_in_their_table_when_the_next_one_is_commented_in(task_file):
    before = '[tests]\ncommand = "pytest"  # all\n# paths = []\n\n# [agent]\n# timeout_s = 1\n'
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=["t.py::b"])
    assert after.endswith("]\n# paths = []\n\n# [agent]\n# timeout_s = 1\n")
    used = tomllib.loads(after.replace("# [agent]", "[agent]"))
    assert (used["tests"]["fail_to_pass"], used["agent"]) == (["t.py::a"], {})


def test_pass_to_pass_is_replaced_only_by_a_list(task_file):
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
def test_every_spelling_of_the_table_is_updated(task_file, before):
    after = rewritten(task_file, before, fail_to_pass=["t.py::a"], pass_to_pass=["t.py::b"])
    requested = tomllib.loads(before)
    requested.setdefault("tests", {}).update(fail_to_pass=["t.py::a"], pass_to_pass=["t.py::b"])
    assert tomllib.loads(after) == requested


def test_no_temporary_file_is_left(task_file):
    rewritten(task_file, "", fail_to_pass=[], pass_to_pass=None)
    assert [path.name for path in task_file.parent.iterdir()] == ["task.toml"]


@settings(deadline=None, max_examples=50)
@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_id_survives(tmp_path_factory, ids):
    task_file = tmp_path_factory.mktemp("ids") / "task.toml"
    after = rewritten(task_file, "[tests]\n", fail_to_pass=ids, pass_to_pass=None)
    assert tomllib.loads(after)["tests"]["fail_to_pass"] == ids


def test_quarantined_tests_are_added_and_updated(task_file):
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


def test_no_flaky_tests_write_no_quarantine(task_file):
    after = rewritten(task_file, "[tests]\n", fail_to_pass=["t.py::a"], pass_to_pass=None)
    assert "quarantined" not in after
