import os

import pytest

from agentbench.extensions.view.runs_folder import PageNotFoundError, RunsFolder


@pytest.fixture
def folder(tmp_path):
    """A folder of one run with one attempt, below another one."""
    attempt = tmp_path / "runs" / "one" / "attempts" / "task" / "1.retry-2"
    attempt.mkdir(parents=True)
    (attempt / "patch.diff").write_text("+x\n")
    (tmp_path / "runs" / "one" / "run.json").write_text("{}")
    (tmp_path / "runs" / "no run").mkdir()
    (tmp_path / "secret").write_text("s")
    return RunsFolder(tmp_path / "runs")


def test_a_run_is_a_folder_with_its_file(folder):
    assert [run.name for run in folder.runs()] == ["one"]
    assert folder.run("one") == folder.root / "one"


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "no run", "none", "one/attempts", "../runs/one", "x" * 300, "a\0b", "\\"],
)
def test_other_names_are_none_of_a_run(folder, name):
    with pytest.raises(PageNotFoundError, match="There is no run"):
        folder.run(name)


@pytest.mark.parametrize(
    ("task", "name"),
    [("..", "1"), ("task", ".."), ("task", "1"), ("task/1.retry-2", ""), ("", "task"), (".", ".")],
)
def test_other_names_are_none_of_an_attempt(folder, task, name):
    with pytest.raises(PageNotFoundError, match="There is no attempt"):
        folder.attempt(folder.run("one"), task, name)


def test_a_file_is_opened_where_it_is(folder):
    attempt = folder.attempt(folder.run("one"), "task", "1.retry-2")
    with folder.opened(attempt / "patch.diff") as file:
        assert file.read() == b"+x\n"


def test_what_is_no_regular_file_is_not_opened_and_nobody_waits_for_it(folder):
    attempt = folder.attempt(folder.run("one"), "task", "1.retry-2")
    os.mkfifo(attempt / "pipe")
    (attempt / "link").symlink_to(attempt / "patch.diff")
    (attempt / "round").symlink_to(attempt / "round")
    for name in ("pipe", "link", "round", "nothing", "."):
        with pytest.raises(PageNotFoundError):
            folder.opened(attempt / name)
    with pytest.raises(PageNotFoundError):
        folder.opened(attempt / ".." / "1.retry-2" / "patch.diff")


def test_a_file_elsewhere_is_not_opened(folder):
    for path in (folder.root.parent / "secret", folder.root / ".." / "secret"):
        with pytest.raises(PageNotFoundError):
            folder.opened(path)


def test_a_folder_that_is_gone_has_no_runs(tmp_path):
    assert RunsFolder(tmp_path / "gone").runs() == []
