import pytest

from agentbench.errors import UsageError
from agentbench.extensions.ray import remote_attempt
from agentbench.extensions.ray.remote_attempt import FolderArchive, pack_task, unpack_task
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.task import RepoSource


def test_a_node_has_the_same_files_in_a_place_of_its_own(task, tmp_path):
    there = unpack_task(task, pack_task(task), tmp_path)
    assert there.folder.is_relative_to(tmp_path)
    assert there.source.files is not None
    assert there.source.files.is_relative_to(tmp_path)
    assert tree_digest(there.folder) == task.digest
    assert tree_digest(there.source.files) == tree_digest(task.source.files)
    assert there.problem == task.problem


def test_they_are_written_once(task, tmp_path):
    content = pack_task(task)
    first = unpack_task(task, content, tmp_path)
    (first.folder / "marked").touch()
    again = unpack_task(task, content, tmp_path)
    assert (again.folder / "marked").exists()
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == [task.digest]


def test_a_bundle_a_dockerfile_and_a_compose_file_go_with_it(task, tmp_path):
    folder = tmp_path / "task"
    folder.mkdir()
    for name in ("Dockerfile", "compose.yaml", "repo.bundle"):
        (folder / name).write_text(name)
    source = RepoSource(url=str(folder / "repo.bundle"), commit="c" * 40)
    files = {"dockerfile": folder / "Dockerfile", "compose": folder / "compose.yaml"}
    environment = task.environment.model_copy(update=files)
    changed = {"folder": folder, "source": source, "environment": environment}
    moved = task.model_copy(update=changed)
    there = unpack_task(moved, pack_task(moved), tmp_path / "cache")
    assert there.environment.dockerfile.read_text() == "Dockerfile"
    assert there.environment.compose.read_text() == "compose.yaml"
    assert there.source.url.startswith(str(tmp_path / "cache"))


def test_a_url_is_left_as_it_is(task, tmp_path):
    source = RepoSource(url="https://host.example/repo", commit="c" * 40)
    moved = task.model_copy(update={"source": source})
    assert unpack_task(moved, pack_task(moved), tmp_path).source == source


def test_a_task_that_is_too_large_says_what_to_do(task, monkeypatch):
    monkeypatch.setattr(
        remote_attempt, "pack", lambda _: FolderArchive(content=b"", left_out=("repo/big",))
    )
    with pytest.raises(UsageError, match="give its repository as a URL"):
        pack_task(task)
