from agentbench.runs.plan import AttemptDurations
from tests.runs.records import failed, lost, resolved


def durations(folder, **more) -> AttemptDurations:
    given = {"agent": "noop", "model": None, "provider": "process", **more}
    return AttemptDurations(folder, **given)


def took(seconds: float, record=None):
    record = resolved() if record is None else record
    return record.model_copy(
        update={"timing": record.timing.model_copy(update={"total_s": seconds})}
    )


def other(task):
    return task.model_copy(update={"digest": "another"})


def test_the_last_duration_of_a_task_is_known(tmp_path, task):
    mine = task.model_copy(update={"digest": "d"})
    assert durations(tmp_path).known([mine]) == {}
    durations(tmp_path).note(took(3.0))
    durations(tmp_path).note(took(2.0, failed()))
    assert durations(tmp_path).known([mine, other(task)]) == {task.id: 2.0}


def test_another_agent_model_or_back_end_is_another_matter(tmp_path, task):
    mine = task.model_copy(update={"digest": "d"})
    durations(tmp_path).note(took(3.0))
    for more in ({"agent": "oracle"}, {"model": "openai/x"}, {"provider": "docker"}):
        assert durations(tmp_path, **more).known([mine]) == {}


def test_what_the_infrastructure_cut_short_says_nothing(tmp_path, task):
    durations(tmp_path).note(took(0.1, lost()))
    assert durations(tmp_path).known([task.model_copy(update={"digest": "d"})]) == {}


def test_damaged_lines_are_passed_over(tmp_path, task):
    mine = task.model_copy(update={"digest": "d"})
    durations(tmp_path).note(took(3.0))
    with (tmp_path / "durations.jsonl").open("ab") as file:
        file.write(b'{"key": "torn\n\x00\xff\n{}\n')
    assert durations(tmp_path).known([mine]) == {task.id: 3.0}


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(tmp_path, task):
    away = tmp_path / "away"
    durations(away).note(took(3.0))
    assert durations(away).known([task]) == {}


def test_old_lines_are_dropped_when_they_are_many(tmp_path, task):
    mine = task.model_copy(update={"digest": "d"})
    durations(tmp_path).note(took(3.0))
    path = tmp_path / "durations.jsonl"
    path.write_bytes(path.read_bytes() * 10_003)
    assert durations(tmp_path).known([mine]) == {task.id: 3.0}
    assert len(path.read_bytes().splitlines()) == 1
