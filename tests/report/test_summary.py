from agentbench.report.summary import TaskOutcome, TaskOutcomes, judged_pairs, overall_pairs
from agentbench.scoring.paired_comparison import TaskPair
from agentbench.scoring.statistics import TaskScore
from tests.report.several import attempts


def test_attempts_are_counted_by_task_and_lost_ones_are_not_judged():
    counted = TaskOutcomes(attempts("a", "rfl", "ll", "r"))
    assert counted.by_task == {
        "task-0": TaskOutcome(1, 3, 2),
        "task-1": TaskOutcome(0, 2, 0),
        "task-2": TaskOutcome(1, 1, 1),
    }
    assert counted.overall() == {TaskScore(1, 3): 1, TaskScore(0, 2): 1, TaskScore(1, 1): 1}
    assert counted.judged() == {TaskScore(1, 2): 1, TaskScore(1, 1): 1}


def test_outcomes_that_are_alike_are_kept_once():
    counted = TaskOutcomes(attempts("a", "rf", "rf")).by_task
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
