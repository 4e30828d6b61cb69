import pytest

from agentbench.tasks.task_file import check_workdir


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/app", "/app"),
        ("/usr/src/app/", "/usr/src/app"),
        ("/root", "/root"),
        ("/opt/a b", "/opt/a b"),
        *((folder, folder) for folder in ("/tmp", "/tmp/x", "/home", "/opt", "/srv", "/solution")),
    ],
)
def test_a_folder_of_the_tasks_own_is_taken_in_its_usual_spelling(path, kept):
    assert check_workdir(path) == kept


@pytest.mark.parametrize(
    "path", ["", "app", "/", "/usr", "/etc", "/var", "/tests", "/logs/a", "/a/../etc", "/a\nb"]
)
def test_what_is_the_systems_or_ours_is_refused(path):
    with pytest.raises(ValueError, match=r"^is (not an absolute path|a folder of the system)"):
        check_workdir(path)
