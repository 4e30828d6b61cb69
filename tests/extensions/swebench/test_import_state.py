"""What the states of an earlier import spare the next one, and what they do not."""

import pytest

from agentbench.core.files import own_folder
from agentbench.errors import UsageError
from agentbench.extensions.swebench.environments import EnvironmentSources
from agentbench.extensions.swebench.import_state import ImportStep, open_states
from agentbench.extensions.swebench.importing import ImportSelection, file_source, import_batches
from agentbench.extensions.swebench.recipes import read_recipes
from agentbench.tasks.mirror import Mirrors
from tests.extensions.swebench.instances import ID, write_lines

TASK = "acme__counting-7"


@pytest.fixture
def again(tmp_path, repos, sources):
    """Import entries into the same folder again, in one batch."""

    def again(*entries, replace=False, sources=sources):
        out = tmp_path / "tasks"
        choice = ImportSelection(out=out, repos=repos, sources=sources, replace=replace)
        path = write_lines(tmp_path / "in.jsonl", *entries)
        with open_states(out, replace=replace) as states:
            (result,) = import_batches(
                file_source(path), choice, Mirrors(tmp_path / "mirrors"), states, size=1000
            )
        return result

    return again


def written_at(tmp_path):
    return (tmp_path / "tasks" / TASK).stat().st_ino


def test_written_instance_is_skipped(again, project, tmp_path):
    first = again(project.instance())
    before = written_at(tmp_path)
    second = again(project.instance())
    assert (list(second.written), second.rejections) == (list(first.written), [])
    assert written_at(tmp_path) == before
    (state,) = second.written.values()
    assert (state.instance_id, state.step) == (ID, ImportStep.WRITTEN)
    assert state.environment == "Python 3.11, by a recipe"


@pytest.mark.parametrize("what", ["row", "recipe"])
def test_a_changed_row_or_recipe_is_imported_again(again, project, tmp_path, what):
    again(project.instance())
    before = written_at(tmp_path)
    if what == "row":
        result = again(project.instance(problem_statement="Another text."))
        assert (tmp_path / "tasks" / TASK / "instruction.md").read_text() == "Another text.\n"
    else:
        path = tmp_path / "other.toml"
        path.write_text('[[recipe]]\nrepo = "Acme/counting"\ninstall = "true"\n')
        result = again(project.instance(), sources=EnvironmentSources(own=[read_recipes(path)]))
    assert (len(result.written), result.rejections) == (1, [])
    assert written_at(tmp_path) != before


def test_changed_task_is_not_replaced(again, project, tmp_path):
    again(project.instance())
    note = tmp_path / "tasks" / TASK / "instruction.md"
    note.write_text("My own text.\n")
    assert len(again(project.instance()).written) == 1, "its row is the same"
    (refusal,) = again(project.instance(problem_statement="Another text.")).rejections
    assert "was changed since its import; give another --out, or --replace" in refusal.what
    assert note.read_text() == "My own text.\n"


def test_a_task_without_a_state_is_not_replaced(again, project, tmp_path):
    again(project.instance())
    (tmp_path / "tasks" / ".import" / f"{TASK}.json").write_text('{"damaged": 1}')
    (refusal,) = again(project.instance()).rejections
    assert "already exists; give another --out, or --replace" in refusal.what


def test_refused_instance_stays_refused(again, project, tmp_path):
    (state,) = again(project.instance()).written.values()
    changes = {"step": ImportStep.REFUSED, "refusal": "fixes no test"}
    with open_states(tmp_path / "tasks", replace=False) as states:
        states.save(TASK, state.replace(**changes))
        assert states.is_done(TASK, state.key)
        assert not states.is_done(TASK, "another key")
    result = again(project.instance())
    assert [str(each) for each in result.rejections] == [
        f"{tmp_path}/in.jsonl:1: {ID}: FAIL_TO_PASS: fixes no test"
    ]


def test_replacing_begins_again_unless_it_was_interrupted(again, project, tmp_path):
    again(project.instance())
    before = written_at(tmp_path)
    again(project.instance(), replace=True)
    replaced = written_at(tmp_path)
    assert replaced != before
    with pytest.raises(KeyboardInterrupt), open_states(tmp_path / "tasks", replace=True):
        raise KeyboardInterrupt
    again(project.instance(), replace=True)
    interrupted = written_at(tmp_path)
    assert interrupted != replaced
    with pytest.raises(KeyboardInterrupt), open_states(tmp_path / "tasks", replace=False):
        raise KeyboardInterrupt
    again(project.instance(), replace=True)
    assert written_at(tmp_path) == interrupted


def test_only_one_import_uses_a_folder(tmp_path):
    with (
        open_states(tmp_path, replace=False),
        pytest.raises(UsageError, match="another import writes into this folder"),
        open_states(tmp_path, replace=False),
    ):
        pass


def test_unfinished_tasks_of_dead_imports_are_removed(tmp_path):
    for name in (".new-dead", ".new-alive"):
        (tmp_path / name / "task").mkdir(parents=True)
    with own_folder(tmp_path / ".new-dead"):
        pass
    with own_folder(tmp_path / ".new-alive"), open_states(tmp_path, replace=False):
        assert [each.name for each in tmp_path.glob(".new-*")] == [".new-alive"]


def test_states_are_hidden_from_git(tmp_path):
    with open_states(tmp_path, replace=False):
        assert (tmp_path / ".import" / ".gitignore").read_text() == "*\n"
