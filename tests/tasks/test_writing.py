import pytest

from agentbench.errors import InputError, UsageError
from agentbench.tasks.loading import load_task, read_draft
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.writing import NewTask, task_toml, write_task
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


def test_what_is_written_is_a_task(new, tmp_path):
    folder = write_task(new, tmp_path / "out")
    assert folder == tmp_path / "out/first"
    task = load_task(folder, mirrors=mirrors())
    assert task.problem.title == 'Last item is "lost"'
    assert task.answer_key.quarantined == ("test_code.py::test_odd",)
    assert (folder / "repo/link").is_symlink()
    assert (folder / "notes/a.json").read_bytes() == b"{}"
    assert [path.name for path in folder.parent.iterdir()] == ["first"]


def test_the_text_of_a_task_file_reads_back_as_it_was(new):
    assert parse_task_file(task_toml(new.table), name="again") == new.table


def test_defaults_are_not_written_down():
    text = task_toml(parse_task_file(WHOLE.partition("[environment]")[0], name="task.toml"))
    assert text.split() == WHOLE.partition("[environment]")[0].split()


def test_a_folder_that_is_there_is_left_alone(new, tmp_path):
    folder = write_task(new, tmp_path / "out")
    (folder / "mine").touch()
    with pytest.raises(UsageError, match="already exists; give another --out, or --replace"):
        write_task(new, tmp_path / "out")
    assert (folder / "mine").exists()
    write_task(new, tmp_path / "out", replace=True)
    assert not (folder / "mine").exists()


def test_a_task_that_would_be_wrong_is_not_written(new, tmp_path):
    (tmp_path / "files/bad").symlink_to("/etc/passwd")
    with pytest.raises(InputError) as caught:
        write_task(new, tmp_path / "out")
    said = f"{tmp_path}/out/first/repo/bad: is a symlink that leaves repo.path"
    assert caught.value.faults == (said,)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_place_that_cannot_be_written_is_told(new, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"):
        write_task(new, tmp_path / "out")


def test_a_draft_of_it_has_no_faults(new, tmp_path):
    assert read_draft(write_task(new, tmp_path / "out")).faults == ()
