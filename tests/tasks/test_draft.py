import pytest

from agentbench.tasks.loading import read_draft
from agentbench.tasks.task_file import is_git_bundle
from tests.tasks.folders import TOML


def test_a_whole_folder_has_no_faults(task_folder):
    draft = read_draft(task_folder())
    assert (draft.task_id, draft.faults) == ("off-by-one", ())
    assert draft.table is not None


def test_a_wrong_task_file_does_not_hide_what_else_is_wrong(task_folder):
    folder = task_folder(toml="title = 3\n", instruction=None)
    (folder / "notes").symlink_to("/etc/passwd")
    draft = read_draft(folder)
    assert (draft.table, draft.task_id) == (None, None)
    assert [fault.split(": ")[1] for fault in draft.faults] == [
        "schema_version",
        "title",
        "repo",
        "is missing",
        "is a symlink that leaves the task's folder",
    ]


def test_the_files_id_comes_before_the_folders_name(task_folder):
    folder = task_folder("Folder", toml=TOML.replace("[repo]", 'id = "own"\n[repo]'))
    assert (read_draft(folder).task_id, read_draft(folder).faults) == ("own", ())


def test_a_folder_that_is_itself_a_link_is_read_through(task_folder, tmp_path):
    (tmp_path / "link").symlink_to(task_folder())
    draft = read_draft(tmp_path / "link")
    assert (draft.task_id, draft.faults) == ("off-by-one", ())


@pytest.mark.parametrize(
    ("url", "expected"),
    [("a.bundle", True), ("a/b.bundle", True), ("https://h/a.bundle", False), ("a.git", False)],
)
def test_a_bundle_is_a_path_and_no_url(url, expected):
    assert is_git_bundle(url) is expected


def test_scripts_that_judge_and_solve_need_their_files(task_folder):
    folder = task_folder(toml=TOML + '[verifier]\ndockerfile = "tests/Dockerfile"\n[solution]\n')
    (folder / "solution").mkdir()
    assert [fault.removeprefix(f"{folder}/") for fault in read_draft(folder).faults] == [
        "tests: is not a folder; [verifier] needs the files of its script there",
        "solution: is empty; [solution] needs the files of its script there",
        f"task.toml: verifier.dockerfile: {folder}/tests/Dockerfile is not a file",
    ]
