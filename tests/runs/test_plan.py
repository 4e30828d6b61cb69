import itertools

from agentbench.runs.plan import Plan, in_order
from agentbench.tasks.task import RepoSource


def named(task, name: str, *, url: str | None = None, timeout: float = 60.0):
    limits = task.problem.limits.model_copy(update={"timeout_s": timeout})
    problem = task.problem.model_copy(update={"id": name, "limits": limits})
    source = RepoSource(url=url or f"https://host.example/{name}", commit="c" * 40)
    return task.model_copy(update={"problem": problem, "source": source})


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


def test_attempts_are_not_made_before_they_are_due(task):
    plan = Plan([named(task, "a")], 10**8)
    assert len(list(itertools.islice(plan, 3))) == 3
    assert len(plan) == 10**8


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
