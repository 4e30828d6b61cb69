import pytest

from taskplan import CycleError, TaskGraph, UnknownTask
from taskplan.ordering import affected, critical_path, order, waves


def graph(**needs):
    made = TaskGraph()
    for name, others in needs.items():
        made.add(name, needs=others.split())
    return made


def test_a_task_comes_after_what_it_depends_on():
    assert order(graph(a="b", b="c", c="")) == ["c", "b", "a"]


def test_ties_are_broken_by_name():
    assert order(graph(z="", m="", a="z")) == ["m", "z", "a"]


def test_a_diamond_is_no_cycle():
    assert order(graph(top="left right", left="base", right="base", base="")) == ["base", "left", "right", "top"]


def test_a_task_is_in_the_earliest_wave_possible():
    assert waves(graph(a="", b="a", c="b", d="a c", e="")) == [["a", "e"], ["b"], ["c"], ["d"]]


def test_the_critical_path_follows_costs():
    made = TaskGraph()
    made.add("fetch", 2)
    made.add("long", 10, ["fetch"])
    made.add("short", 1, ["fetch"])
    made.add("end", 1, ["long", "short"])
    assert critical_path(made) == (13, ["fetch", "long", "end"])


def test_an_empty_graph_has_an_empty_plan():
    assert order(TaskGraph()) == []
    assert waves(TaskGraph()) == []
    assert critical_path(TaskGraph()) == (0, [])


@pytest.mark.parametrize(
    ("needs", "path"),
    [
        ({"a": "a"}, ("a", "a")),
        ({"a": "b", "b": "a"}, ("a", "b", "a")),
        ({"x": "c", "c": "b", "b": "a", "a": "c"}, ("a", "c", "b", "a")),
    ],
    ids=["self", "pair", "tail"],
)
def test_a_cycle_is_reported_from_its_first_task(needs, path):
    with pytest.raises(CycleError) as caught:
        order(graph(**needs))
    assert caught.value.path == path
    assert str(caught.value) == " -> ".join(path)


def test_a_task_that_was_never_added_is_named():
    with pytest.raises(UnknownTask, match="no task is named 'ghost'"):
        order(graph(a="ghost"))


def test_tasks_may_be_added_after_they_are_needed():
    assert order(graph(a="b", b="")) == ["b", "a"]


def test_a_dependency_can_be_taken_back():
    made = graph(a="b", b="a")
    made.undepend("b", "a")
    assert order(made) == ["b", "a"]


def test_a_dependency_can_be_added_to_a_plan():
    made = graph(a="", b="")
    assert order(made) == ["a", "b"]
    made.depend("a", "b")
    assert order(made) == ["b", "a"]


def test_a_removed_task_is_missed_by_those_that_need_it():
    made = graph(a="b", b="")
    made.remove("b")
    with pytest.raises(UnknownTask, match="'b'"):
        order(made)


def test_affected_tasks_are_all_that_depend_on_one():
    made = graph(a="", b="a", c="b", d="")
    assert affected(made, "a") == ["a", "b", "c"]
    assert affected(made, "d") == ["d"]


def test_a_long_chain_needs_no_deep_stack():
    made = TaskGraph()
    for number in range(3000):
        made.add(f"t{number:04}", needs=[f"t{number + 1:04}"] if number < 2999 else [])
    assert order(made)[:2] == ["t2999", "t2998"]
