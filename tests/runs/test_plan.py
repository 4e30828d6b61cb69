from math import inf

from agentbench.runs.plan import AttemptDurations, Plan, in_order, remaining_attempts
from agentbench.tasks.task import RepoSource
from tests.runs.records import failed, interrupted, lost, resolved


def named(task, name: str, *, url: str | None = None, timeout: float = 60.0):
    limits = task.problem.limits.replace(timeout_s=timeout)
    problem = task.problem.replace(id=name, limits=limits)
    source = RepoSource(url=url or f"https://host.example/{name}", commit="c" * 40)
    return task.replace(problem=problem, source=source)


def order(tasks, known=None, seed=None) -> str:
    expected = (known or {}).get
    return "".join(
        each.id for each in in_order(tasks, expected=lambda t: expected(t.id), seed=seed)
    )


def listed(plan: Plan) -> list[tuple[str, int]]:
    return [(item.task.id, item.attempt) for item in plan]


def test_every_task_has_its_first_attempt_before_any_has_its_second(task):
    plan = Plan([named(task, "a"), named(task, "b")], 2)
    assert listed(plan) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert len(plan) == 4


def test_what_is_done_is_left_out_and_a_later_mark_counts_more(task):
    plan = Plan([named(task, "a"), named(task, "b")], 2)
    marks = [
        (("a", 1), True),
        (("b", 2), True),
        (("a", 1), False),
        (("another", 1), True),
        (("a", 3), True),
    ]
    rest = plan.less(marks)
    assert listed(rest) == [("a", 1), ("b", 1), ("a", 2)]
    assert len(rest) == 3
    assert len(rest.less([(("b", 1), True)])) == 2
    assert len(plan) == 4


def test_a_plan_knows_which_tasks_were_tried_before(task):
    a, b = named(task, "a"), named(task, "b")
    plan = Plan([a, b], 1, known={"a"}).less([])
    assert plan.knows(a)
    assert not plan.knows(b)


def test_known_tasks_are_made_longest_first_after_the_unknown_ones(task):
    tasks = [named(task, name) for name in "abcd"]
    assert order(tasks) == "abcd"
    assert order(tasks, {"a": 1.0, "c": 5.0, "d": 3.0}) == "bcda"


def test_unknown_tasks_with_long_limits_come_first(task):
    tasks = [named(task, "a"), named(task, "b", timeout=600.0)]
    assert order(tasks) == "ba"


def test_a_repository_s_unknown_tasks_are_spread_among_the_others(task):
    one, two = "https://host.example/one", "https://host.example/two"
    tasks = [named(task, name, url=one) for name in "abc"]
    tasks += [named(task, name, url=two) for name in "xy"]
    assert order(tasks) == "axbyc"


def test_a_seed_shuffles_whatever_is_known(task):
    tasks = [named(task, name) for name in "abcdefgh"]
    shuffled = order(tasks, {"a": 1.0}, seed=7)
    assert shuffled == order(tasks, seed=7) != order(tasks)
    assert sorted(shuffled) == list("abcdefgh")


def durations(folder, **more) -> AttemptDurations:
    given = {"agent": "noop", "model": None, "provider": "process", **more}
    return AttemptDurations(folder, **given)


def took(seconds: float, record=None):
    record = resolved() if record is None else record
    return record.replace(timing=record.timing.replace(total_s=seconds))


def other(task):
    return task.replace(digest="another")


def test_the_last_duration_of_a_task_is_known(tmp_path, task):
    mine = task.replace(digest="d")
    assert durations(tmp_path).known([mine]) == {}
    durations(tmp_path).note(took(3.0))
    durations(tmp_path).note(took(2.0, failed()))
    assert durations(tmp_path).known([mine, other(task)]) == {task.id: 2.0}


def test_another_agent_model_or_back_end_is_another_matter(tmp_path, task):
    mine = task.replace(digest="d")
    durations(tmp_path).note(took(3.0))
    for more in ({"agent": "oracle"}, {"model": "openai/x"}, {"provider": "docker"}):
        assert durations(tmp_path, **more).known([mine]) == {}


def test_what_the_infrastructure_cut_short_says_nothing(tmp_path, task):
    durations(tmp_path).note(took(0.1, lost()))
    assert durations(tmp_path).known([task.replace(digest="d")]) == {}


def test_damaged_lines_are_passed_over(tmp_path, task):
    mine = task.replace(digest="d")
    durations(tmp_path).note(took(3.0))
    with (tmp_path / "durations.jsonl").open("ab") as file:
        file.write(b'{"key": "torn\n\x00\xff\n{}\n')
    assert durations(tmp_path).known([mine]) == {task.id: 3.0}


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(tmp_path, task):
    away = tmp_path / "away"
    durations(away).note(took(3.0))
    assert durations(away).known([task]) == {}


def test_old_lines_are_dropped_when_they_are_many(tmp_path, task):
    mine = task.replace(digest="d")
    durations(tmp_path).note(took(3.0))
    path = tmp_path / "durations.jsonl"
    path.write_bytes(path.read_bytes() * 10_003)
    assert durations(tmp_path).known([mine]) == {task.id: 3.0}
    assert len(path.read_bytes().splitlines()) == 1


def left(task, *tries, retries=2) -> list[int]:
    named = [each.replace(task_id=task.id) for each in tries]
    return [item.attempt for item in remaining_attempts(Plan([task], 2), named, retries=retries)]


def test_what_has_a_verdict_is_done(task):
    assert left(task) == [1, 2]
    assert left(task, failed(attempt=1), resolved(attempt=2)) == []


def test_what_ctrl_c_cut_off_is_not(task):
    assert left(task, interrupted(attempt=1), failed(attempt=2)) == [1]


def test_what_was_made_again_since_is_done(task):
    assert left(task, interrupted(attempt=1), failed(attempt=1), failed(attempt=2)) == []


def test_what_the_infrastructure_failed_has_its_retries_left(task):
    tries = [lost(attempt=1)]
    assert left(task, *tries, failed(attempt=2)) == [1]
    assert left(task, *tries * 2, failed(attempt=2)) == [1]
    assert left(task, *tries * 3, failed(attempt=2)) == []
    assert left(task, *tries, failed(attempt=2), retries=0) == []


def test_with_retries_without_end_it_is_never_done(task):
    assert left(task, *[lost(attempt=1)] * 50, failed(attempt=2), retries=inf) == [1]
