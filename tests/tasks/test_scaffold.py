import pytest

from agentbench.errors import UsageError
from agentbench.sandbox.toolchains import parse_tools
from agentbench.tasks.loading import load_task, read_draft
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scaffold import write_scaffold
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import Runner
from tests.e2e.small_task import SmallTask


@pytest.fixture
def folder(tmp_path):
    write_scaffold(tmp_path / "my-bug")
    return tmp_path / "my-bug"


def test_missing_parts_of_new_task_are_reported(folder):
    assert [fault.removeprefix(f"{folder}/") for fault in read_draft(folder).faults] == [
        "task.toml: title: '' is empty",
        "instruction.md: has only a comment; it holds the instruction for the agent",
        f"task.toml: repo.path: {folder}/repo is empty; copy the project into it, at the buggy "
        "commit",
        "tests.patch: has only comments; write the patch as `git diff` prints it",
        "solution.patch: has only comments; write the patch as `git diff` prints it",
    ]
    text = (folder / "task.toml").read_text().replace('title = ""', 'title = "Wrong"')
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("It fails. <!-- not seen -->")
    patch = "has only comments; write the patch as `git diff` prints it"
    assert [fault.removeprefix(f"{folder}/") for fault in read_draft(folder).faults] == [
        f"task.toml: repo.path: {folder}/repo is empty; copy the project into it, at the buggy "
        "commit",
        f"tests.patch: {patch}",
        f"solution.patch: {patch}",
    ]


def test_completed_scaffold_is_read(folder, tmp_path):
    created = SmallTask().write(tmp_path / "small")
    text = (folder / "task.toml").read_text().replace('title = ""', 'title = "Wrong"')
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("It fails.")
    (folder / "repo").rmdir()
    (created / "repo").rename(folder / "repo")
    for name in ("tests.patch", "solution.patch"):
        patch = (folder / name).read_bytes() + (created / name).read_bytes()
        (folder / name).write_bytes(patch)  # also below the comment
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert (task.id, task.problem.title) == ("my-bug", "Wrong")
    assert task.problem.test_paths == ("tests",)


def test_commented_lines_are_valid_keys(folder):
    lines = (folder / "task.toml").read_text().splitlines()
    keys = [line.removeprefix("# ") for line in lines if " = " in line or "[" in line[:3]]
    text = "\n".join(keys).replace('title = ""', 'title = "x"').replace('path = "repo"', "")
    (folder / "task.toml").write_text(text)
    assert [fault for fault in read_draft(folder).faults if "task.toml" in fault] == []


def test_existing_folder_is_not_changed(folder):
    (folder / "instruction.md").write_text("mine")
    with pytest.raises(UsageError, match="my-bug: already exists; name a new folder"):
        write_scaffold(folder)
    assert (folder / "instruction.md").read_text() == "mine"


def test_folder_name_must_be_an_id(tmp_path):
    with pytest.raises(UsageError, match=r"expected \[a-z0-9._-\]\+, found 'My bug'"):
        write_scaffold(tmp_path / "My bug")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder_is_a_usage_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write_scaffold(tmp_path / "file" / "my-bug")


@pytest.mark.parametrize("runner", Runner)
def test_each_runner_has_a_task_that_is_read(runner, tmp_path):
    folder = tmp_path / "my-bug"
    write_scaffold(folder, runner)
    lines = (folder / "task.toml").read_text().splitlines()
    keys = [line.removeprefix("# ") for line in lines if " = " in line or "[" in line[:3]]
    text = "\n".join(keys).replace('title = ""', 'title = "x"').replace('path = "repo"', "")
    table = parse_task_file(text, name="task.toml")
    assert table.tests.runner is runner
    assert parse_test_command(table.tests.command, runner).runner is runner
    assert table.tests.fail_to_pass
    built = [line.rpartition(" ")[2] for line in lines if "images build" in line]
    toolchain = parse_tools(built, "3.11")
    name = "agentbench/python:3.11" if toolchain is None else toolchain.image_name("3.11")
    assert table.environment.image == name
