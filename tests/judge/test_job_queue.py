"""The order of waiting jobs, the capacity that they need, and their retries."""

from typing import cast

import pytest

from agentbench.judge.job_queue import Job, JobQueue
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.judge.task_register import ReadyTask
from agentbench.runs.scheduler import Capacity
from agentbench.runs.store.configuration import TaskEntry
from agentbench.tasks.task import Task
from tests.fakes.staging import small_task

NO_CHANGE = SubmittedChange.of(patch="")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    folder = tmp_path_factory.mktemp("tasks")
    return {
        name: small_task(folder / name, environment=f"memory_mib = {memory}")
        for name, memory in (("a", 100), ("b", 100), ("large", 900))
    }


def job(task: Task, priority: int = 0) -> Job:
    entry = TaskEntry(id=task.id, folder=str(task.folder), digest=task.digest)
    ready = ReadyTask(task=task, entry=entry, image="")
    return Job(key=(task.digest, ""), ready=ready, change=NO_CHANGE, priority=priority)


def queue(jobs: int = 10, memory: float = 1000, clock: list[float] | None = None) -> JobQueue:
    times = clock if clock is not None else [0.0]
    capacity = Capacity(cpus=100, memory_mib=memory)
    return JobQueue(jobs, capacity, clock=lambda: times[0], back_off=lambda failures: failures * 10)


def taken(jobs: JobQueue) -> list[Job]:
    found = []
    while (each := jobs.take()) is not None:
        found.append(each)
    return found


def test_the_most_urgent_job_comes_first_and_equal_ones_in_their_order(
    tasks: dict[str, Task],
) -> None:
    waiting = queue()
    first = job(tasks["a"])
    waiting.put(first)
    assert waiting.take() is first
    waiting.ended(first, prepared=True)
    given = [job(tasks["a"], priority) for priority in (0, 5, 0, 9)]
    for each in given:
        waiting.put(each)
    assert taken(waiting) == [given[3], given[1], given[0], given[2]]


def test_one_job_prepares_its_task_while_those_of_others_start(tasks: dict[str, Task]) -> None:
    waiting = queue()
    given = [job(tasks[name]) for name in ("a", "a", "b")]
    for each in given:
        waiting.put(each)
    assert taken(waiting) == [given[0], given[2]]
    waiting.ended(given[0], prepared=False)
    assert taken(waiting) == [given[1]]


def test_a_job_waits_for_a_slot_and_for_memory(tasks: dict[str, Task]) -> None:
    waiting = queue(jobs=2)
    large, small, other = (job(tasks[name]) for name in ("large", "a", "b"))
    waiting.put(small)
    assert waiting.take() is small
    waiting.put(large)
    waiting.put(other)
    assert large.task.environment.total_memory_mib == 900
    first = cast("Job", waiting.take())
    assert first is large  # 900 + 100 MiB fit
    assert waiting.take() is None  # there is no third slot
    waiting.ended(large, prepared=True)
    assert waiting.take() is other


def test_memory_that_is_taken_lets_smaller_jobs_pass(tasks: dict[str, Task]) -> None:
    waiting = queue(memory=950)
    small, large, other = (job(tasks[name]) for name in ("a", "large", "b"))
    for each in (small, large, other):
        waiting.put(each)
    assert taken(waiting) == [small, other]
    assert len(waiting) == 1


def test_a_retry_waits_for_its_time(tasks: dict[str, Task]) -> None:
    clock = [100.0]
    waiting = queue(clock=clock)
    failed = job(tasks["a"])
    waiting.put(failed)
    waiting.take()
    waiting.ended(failed, prepared=True)
    waiting.retry(failed)
    assert (waiting.next_due, waiting.take()) == (110.0, None)
    clock[0] = 110.0
    assert waiting.take() is failed
    assert waiting.next_due is None


def test_somebody_more_urgent_brings_a_job_forward(tasks: dict[str, Task]) -> None:
    waiting = queue(jobs=1)
    first, second = job(tasks["a"]), job(tasks["b"])
    waiting.put(first)
    waiting.put(second)
    waiting.raise_priority(second, 3)
    waiting.raise_priority(second, 1)
    assert second.priority == 3
    assert waiting.take() is second


def test_waiting_jobs_can_be_removed(tasks: dict[str, Task]) -> None:
    waiting = queue()
    given = [job(tasks["a"]), job(tasks["b"])]
    for each in given:
        waiting.put(each)
    assert waiting.remove(given[0])
    assert not waiting.remove(given[0])
    assert waiting.clear() == [given[1]]
    assert len(waiting) == 0
