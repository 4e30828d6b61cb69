import pytest

from agentbench.errors import UsageError
from agentbench.importers.harbor.importing import HARBOR
from agentbench.importers.task_folders import import_folders
from agentbench.tasks.loading import load_tasks, read_draft
from agentbench.tasks.mirror import Mirrors
from tests.importers.harbor.harbor_folders import ALL_AGES, harbor_folder


@pytest.fixture
def folders(tmp_path):
    for name, changes in ALL_AGES.items():
        harbor_folder(tmp_path / "theirs" / name, changes)
    return tmp_path / "theirs"


def test_a_folder_of_folders_becomes_tasks_that_load(folders, tmp_path):
    imported = import_folders(HARBOR, [folders], tmp_path / "ours")
    assert (imported.rejections, len(imported.written)) == ([], 4)
    tasks = load_tasks([tmp_path / "ours"], mirrors=Mirrors(tmp_path / "mirrors")).tasks
    assert [task.id for task in tasks] == ["hello", "separate", "several-rewards", "unsolved"]
    assert {task.source.workdir for task in tasks} == {"/app"}
    several = tasks[2].answer_key
    assert several.verifier is not None
    assert several.verifier.env == {"WANTED": "hello"}
    assert several.solution is not None
    assert several.solution.env == {"SAID": "hello"}


def test_the_good_rest_is_written_though_some_are_refused(folders, tmp_path):
    harbor_folder(folders / "broken", {"task.toml": "["})
    harbor_folder(folders / "hello-again", {"task.toml": '[task]\nname = "org/hello"\n'})
    harbor_folder(folders / "silent", {"instruction.md": "<!-- canary -->\n"})
    imported = import_folders(HARBOR, [folders], tmp_path / "ours")
    assert len(imported.written) == 4
    said = [str(refusal).replace(f"{folders}/", "") for refusal in imported.rejections]
    assert said[0].startswith("broken/task.toml: not valid TOML")
    assert said[1] == "hello-again: has the id hello, as an earlier folder"
    assert said[2].startswith("silent: ")
    assert "instruction.md: is empty" in said[2]


def test_what_is_there_stays_unless_it_is_to_be_replaced(folders, tmp_path):
    out = tmp_path / "ours"
    import_folders(HARBOR, [folders / "hello"], out)
    (out / "hello" / "instruction.md").write_text("mine\n")
    again = import_folders(HARBOR, [folders / "hello"], out)
    assert again.written == []
    assert "already exists" in again.rejections[0].what
    assert (out / "hello" / "instruction.md").read_text() == "mine\n"
    assert import_folders(HARBOR, [folders / "hello"], out, replace=True).written == [out / "hello"]
    assert read_draft(out / "hello").instruction == "Write `hello` into hello.txt.\n"


def test_modes_are_kept(folders, tmp_path):
    (task,) = import_folders(HARBOR, [folders / "hello"], tmp_path / "ours").written
    assert (task / "tests" / "test.sh").stat().st_mode & 0o777 == 0o755
    assert (task / "environment" / "notes.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("source", ["nothing", "empty"])
def test_a_source_without_a_task_is_wrong_usage(tmp_path, source):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"task\.toml"):
        import_folders(HARBOR, [tmp_path / source], tmp_path / "ours")
