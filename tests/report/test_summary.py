from collections import Counter

from agentbench.report.summary import (
    TaskOutcome,
    judged_pairs,
    judged_scores,
    outcomes_by_task,
    overall_pairs,
    overall_scores,
)
from agentbench.scoring.paired_comparison import TaskPair
from agentbench.scoring.statistics import TaskScore
from tests.report.several import attempts


def test_attempts_are_counted_by_task_and_lost_ones_are_not_judged():
    by_task = outcomes_by_task(attempts("a", "rfl", "ll", "r"))
    assert by_task == {
        "task-0": TaskOutcome(1, 3, 2),
        "task-1": TaskOutcome(0, 2, 0),
        "task-2": TaskOutcome(1, 1, 1),
    }
    outcomes = Counter(by_task.values())
    assert overall_scores(outcomes) == {TaskScore(1, 3): 1, TaskScore(0, 2): 1, TaskScore(1, 1): 1}
    assert judged_scores(outcomes) == {TaskScore(1, 2): 1, TaskScore(1, 1): 1}


def test_outcomes_that_are_alike_are_kept_once():
    counted = outcomes_by_task(attempts("a", "rf", "rf"))
    assert counted["task-0"] is counted["task-1"]


def test_pairs_of_judged_attempts_leave_out_tasks_that_one_run_lost():
    both = {
        (TaskOutcome(1, 2, 1), TaskOutcome(0, 2, 2)): 3,
        (TaskOutcome(1, 2, 2), TaskOutcome(0, 1, 0)): 4,
    }
    assert judged_pairs(both) == {TaskPair(TaskScore(1, 1), TaskScore(0, 2)): 3}
    assert overall_pairs(both) == {
        TaskPair(TaskScore(1, 2), TaskScore(0, 2)): 3,
        TaskPair(TaskScore(1, 2), TaskScore(0, 1)): 4,
    }
