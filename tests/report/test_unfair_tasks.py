import io

from agentbench.report.text_reports import RunNames
from agentbench.report.text_table import console_of
from agentbench.report.unfair_tasks import TaskQualities, rates_of_comparison, rates_of_runs
from agentbench.runs.store.configuration import TaskQuality
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.tasks.problem import TaskId
from tests.runs.records import failed, lost, resolved

UNFAIR, FAIR = TaskQuality(rejects_right_fixes=True), TaskQuality(rejects_right_fixes=False)
QUALITIES = TaskQualities(
    by_task={
        TaskId("task-0"): UNFAIR,
        TaskId("task-1"): FAIR.replace(accepts_mutants=True, accepts_wrong_fixes=True),
        TaskId("task-2"): TaskQuality(),
    }
)


def attempts(*makers):
    records = (maker(task_id=f"task-{number}") for number, maker in enumerate(makers))
    return [AttemptSummary.of(record) for record in records]


def printed(table):
    stream = io.StringIO()
    table.print(console_of(stream))
    return stream.getvalue()


def test_counts_name_what_was_not_measured():
    assert QUALITIES.counts_text() == (
        "tests of 3 tasks: 1 reject right fixes (1 not measured), 1 accept changed solutions, "
        "1 of them certified wrong ones (2 not measured)"
    )
    assert QUALITIES.exclusion_text() == (
        "1 unfair task, whose tests reject right fixes: task-0; 1 of 3 tasks not measured"
    )
    assert QUALITIES.is_known
    assert not TaskQualities(by_task={TaskId("a"): TaskQuality()}).is_known


def test_run_has_a_row_with_and_one_without_unfair_tasks():
    table = rates_of_runs({"mine": attempts(failed, resolved, lost)}, QUALITIES)
    with_them, without = table.rows
    assert (with_them[0], with_them[1], with_them[2][:3], with_them[3][:3]) == (
        "mine", "3", "1/3", "1/2",
    )  # fmt: skip
    assert (without[0], without[1], without[2][:3], without[3][:3]) == (
        "mine, without unfair tasks", "2", "1/2", "1/1",
    )  # fmt: skip
    assert "1 of 3 tasks not measured" in printed(table)
    assert "| `mine, without unfair tasks` | 2 | 1/2 " in "".join(table.markdown())


def test_comparison_says_whether_difference_depends_on_unfair_tasks():
    first, second = attempts(failed, resolved, resolved), attempts(resolved, resolved, resolved)
    table = rates_of_comparison(first, second, QUALITIES, RunNames("a", "b"))
    assert [(row[0], row[1][:3], row[2][:3], row[3]) for row in table.rows] == [
        ("all tasks: 3", "2/3", "3/3", "+33.3"),
        ("all tasks, judged attempts", "2/3", "3/3", "+33.3"),
        ("without unfair tasks: 2", "2/2", "2/2", "0.0"),
        ("without unfair tasks, judged attempts", "2/2", "2/2", "0.0"),
    ]
    assert "Without unfair tasks: 0.0 points" in printed(table)


def test_comparison_of_unfair_tasks_alone_says_that_none_remains():
    only = attempts(resolved)
    table = rates_of_comparison(only, only, QUALITIES, RunNames("a", "b"))
    assert len(table.rows) == 2
    assert table.lines[-1] == "Without unfair tasks the two runs share none."
