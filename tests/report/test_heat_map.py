from agentbench.report.heat_map import HeatMapCell, heat_map
from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import failed, resolved

GOOD, BAD = AttemptSummary.of(resolved()), AttemptSummary.of(failed())


def attempts(**outcomes):
    """Of each task one attempt a letter: + resolved, - not."""
    return [
        AttemptSummary.of((resolved if sign == "+" else failed)(task_id=task, attempt=number))
        for task, signs in outcomes.items()
        for number, sign in enumerate(signs, start=1)
    ]


def test_the_hardest_tasks_come_first_with_their_counts():
    shown = heat_map([attempts(a="+-", b="++"), attempts(b="+", c="-")])
    assert [task for task, _ in shown.rows] == ["c", "a", "b"]
    cells = dict(shown.rows)
    assert cells["a"] == (HeatMapCell(resolved=1, total=2), None)
    assert cells["b"] == (HeatMapCell(resolved=2, total=2), HeatMapCell(resolved=1, total=1))
    assert shown.note == "The hardest tasks come first."


def test_many_tasks_leave_out_those_alike_by_name():
    outcomes = {f"t{n:03}": "-+"[n % 2] for n in range(100)}
    shown = heat_map([attempts(**outcomes, mixed="+"), attempts(**outcomes, mixed="-")])
    assert [task for task, _ in shown.rows] == ["mixed"]
    assert len(shown.always) == len(shown.never) == 50
    assert {*shown.always, *shown.never, "mixed"} == {*outcomes, "mixed"}
    assert shown.note.startswith("1 of 101 tasks are shown")


def test_no_task_is_lost_however_many_there_are():
    mixed = {f"t{n:03}": "+-" for n in range(300)}
    shown = heat_map([attempts(**mixed)])
    rows = [task for task, _ in shown.rows]
    assert len(rows) == 200
    assert sorted([*rows, *shown.beyond]) == sorted(mixed)


def test_colours_tell_none_some_and_all():
    levels = [HeatMapCell(resolved=n, total=10).level for n in range(11)]
    assert levels == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert [HeatMapCell(resolved=n, total=1).level for n in (0, 1)] == [0, 4]


def test_no_runs_tasks_make_no_rows():
    assert heat_map([[]]).rows == []
