from math import inf

from agentbench.runs.plan import Plan, remaining_attempts
from tests.runs.records import failed, interrupted, lost, resolved


def left(task, *tries, retries=2) -> list[int]:
    named = [each.model_copy(update={"task_id": task.id}) for each in tries]
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
