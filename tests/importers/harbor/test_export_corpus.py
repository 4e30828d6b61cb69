from pathlib import PurePosixPath

import pytest

from agentbench.importers.harbor.export import export_tasks
from agentbench.importers.harbor.importing import HARBOR, harbor_format
from agentbench.importers.task_folders import import_folders
from agentbench.sandbox.interface import ImageSettings
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.importers.harbor.harbor_folders import harbor_folder
from tests.importers.harbor.test_export import tree
from tests.importers.harbor_corpus.run_harbor import CORPUS

CORPUS_TASKS = [path.parent for path in sorted(CORPUS.glob("*/task.toml"))]


def there_and_back(theirs, tmp_path):
    """Import a folder and export it; the folder that comes back, and what is said about it."""
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")
    task = load_task(ours, mirrors=mirrors)
    exported = export_tasks([task], tmp_path / "back", mirrors, image="x", replace=True)
    (back,) = exported.written
    return back, exported.notes


@pytest.mark.parametrize("theirs", CORPUS_TASKS, ids=lambda path: path.name)
def test_each_task_of_the_corpus_comes_back_byte_for_byte(theirs, tmp_path):
    back, notes = there_and_back(theirs, tmp_path)
    assert tree(back) == tree(theirs)
    assert {path.name for path in back.iterdir()} == {path.name for path in theirs.iterdir()}
    assert notes == []


@pytest.fixture
def imported(tmp_path):
    """An imported task, and a function that exports it and gives the notes."""
    theirs = harbor_folder(tmp_path / "theirs" / "hello")
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")

    def export():
        task = load_task(ours, mirrors=mirrors)
        return export_tasks([task], tmp_path / "back", mirrors, image="x", replace=True).notes

    return ours, export


def test_changes_that_harbors_files_do_not_show_are_named(imported):
    ours, export = imported
    assert export() == []
    text = (ours / "task.toml").read_text()
    (ours / "task.toml").write_text(text.replace("timeout_s = 60.0", "timeout_s = 61.0"))
    (ours / "instruction.md").write_text("Say hello.\n")
    said = "changed since its import, and exported as it was: task.toml (agent), instruction.md"
    assert export() == [f"hello: {said}"]


def test_files_that_an_import_cannot_read_again_are_said(imported):
    ours, export = imported
    (ours / "harbor" / "task.toml").write_text('[agent]\ntimeout_sec = "long"\n')
    assert export() == [
        "hello: its files of Harbor were changed since the import, and cannot be imported again"
    ]


def test_the_users_and_folders_that_an_image_has_count_as_unchanged(tmp_path):
    changes = {"environment/Dockerfile": "FROM python:3.12\n"}
    theirs = harbor_folder(tmp_path / "hello", changes)
    settings = ImageSettings(workdir=PurePosixPath("/srv/own"), user="worker")
    form = harbor_format(lambda _: settings)
    (ours,) = import_folders(form, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")
    task = load_task(ours, mirrors=mirrors)
    assert (str(task.workdir), task.environment.user) == ("/srv/own", "worker")
    assert export_tasks([task], tmp_path / "back", mirrors, image="x").notes == []
