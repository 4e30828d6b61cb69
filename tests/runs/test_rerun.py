import json
import shutil
from contextlib import closing

import pytest

from agentbench.errors import InputError, UsageError
from agentbench.runs.rerun import FailedAttempts
from agentbench.runs.start import resume_run, start_run
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.tasks.mirror import Mirrors
from tests.e2e.small_task import SmallTask
from tests.runs.records import configuration, failed, lost, resolved


@pytest.fixture
def recorded(tmp_path):
    """A run of two tasks, three attempts each: one of `one` is resolved, and all of `two`."""
    for name in ("one", "two"):
        (tmp_path / "tasks" / name).mkdir(parents=True)
        SmallTask().write(tmp_path / "tasks" / name)
    entries = tuple(
        TaskEntry(id=name, folder=str(tmp_path / "tasks" / name), digest="d")
        for name in ("one", "two")
    )
    store = RunStore.create(
        tmp_path / "runs", configuration(attempts=3, tasks=entries, retries=7, agent="noop")
    )
    made = [failed(attempt=1), resolved(attempt=2), lost(attempt=3)]
    made += [resolved(attempt=number, task_id="two") for number in (1, 2, 3)]
    for record in made:
        folder, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record.replace(run_id=store.folder.name), folder)
    return store


@pytest.fixture
def mirrors(tmp_path) -> Mirrors:
    return Mirrors(tmp_path / "mirrors")


def test_attempts_that_are_not_resolved_are_made_again_in_a_new_run(recorded, options, mirrors):
    again = FailedAttempts.of_run(recorded.folder)
    assert again.by_task == {"one": (1, 3)}
    loaded = again.load_tasks(mirrors)
    assert loaded.warnings == (f"one: changed since {recorded.folder.name}",)
    chosen = again.options(options.replace(sandbox=options.sandbox), given={"sandbox"})
    assert (chosen.agent, chosen.attempts, chosen.retries) == ("noop", 3, 7)

    run = start_run(loaded.tasks, chosen, rerun=again)

    assert [(each.task.id, each.attempt) for each in run.planned] == [("one", 1), ("one", 3)]
    assert run.configuration.rerun_of == recorded.folder.name
    assert run.configuration.planned_attempts == 2
    with closing(run.attempts()) as records:
        next(records)
    assert len(resume_run(run.store.folder).planned) == 1


def test_attempts_that_were_never_made_are_not_resolved(recorded):
    path = recorded.folder / "attempts.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"task_id":"two"' not in line))
    assert FailedAttempts.of_run(recorded.folder).by_task == {"one": (1, 3), "two": (1, 2, 3)}


def test_another_number_of_attempts_is_made_whole(recorded, options):
    again = FailedAttempts.of_run(recorded.folder)
    chosen = again.options(options.replace(attempts=2), given={"attempts"})
    assert (chosen.attempts, again.numbers("one", chosen)) == (2, None)
    assert again.numbers("one", again.options(options, given=())) == (1, 3)


def test_given_options_replace_those_of_the_run(recorded, options):
    again = FailedAttempts.of_run(recorded.folder)
    given = options.replace(agent=None, agent_command="true", retries=1)
    chosen = again.options(given, given={"agent_command", "retries"})
    assert (chosen.selected_agent, chosen.retries, chosen.attempts) == ("command", 1, 3)
    assert not chosen.allow_unsandboxed
    assert again.options(options, given=()).allow_unsandboxed, "the same agent where it was"


def test_a_run_whose_attempts_are_all_resolved_has_nothing_to_rerun(recorded):
    for number in (1, 3):
        folder, _ = recorded.attempt_folder("one", number)
        recorded.append(resolved(attempt=number, retry_of=1), folder)
    with pytest.raises(UsageError, match="nothing to rerun, since the run resolved all of its 6 a"):
        FailedAttempts.of_run(recorded.folder)


def test_a_run_that_goes_on_is_refused(recorded):
    with run_lock(recorded.folder), pytest.raises(UsageError, match="still goes on; wait until"):
        FailedAttempts.of_run(recorded.folder)


def test_a_task_that_is_gone_is_named(recorded, mirrors, tmp_path):
    shutil.rmtree(tmp_path / "tasks" / "one")
    with pytest.raises(InputError, match=f"no longer exist: {tmp_path}/tasks/one; restore them"):
        FailedAttempts.of_run(recorded.folder).load_tasks(mirrors)


def test_a_task_that_has_another_id_now_is_named(recorded, mirrors, tmp_path):
    path = tmp_path / "tasks" / "one" / "task.toml"
    path.write_text(f'id = "other"\n{path.read_text()}')
    with pytest.raises(InputError, match="no task has the id one any more"):
        FailedAttempts.of_run(recorded.folder).load_tasks(mirrors)


def test_run_json_of_a_rerun_names_its_attempts(recorded, options, mirrors):
    again = FailedAttempts.of_run(recorded.folder)
    chosen = again.options(options, given={"sandbox"})
    run = start_run(again.load_tasks(mirrors).tasks, chosen, rerun=again)
    (entry,) = json.loads((run.store.folder / "run.json").read_text())["tasks"]
    assert entry["attempts"] == [1, 3]
