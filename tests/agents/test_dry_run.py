"""The tiny task is a task like any other."""

from agentbench.agents.dry_run import write_dry_run_task
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors


def test_it_loads_and_its_solution_is_what_is_rehearsed(tmp_path):
    mirrors = Mirrors(tmp_path / "mirrors")
    (task,) = load_tasks([write_dry_run_task(tmp_path / "task")], mirrors=mirrors).tasks
    assert task.id == "rehearsal"
    assert b"+    return a + b" in task.answer_key.solution_patch
    assert task.answer_key.fail_to_pass == ("test_calc.py::test_two_numbers_are_added",)
