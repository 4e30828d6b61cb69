import pytest

from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import (
    AttemptQueue,
    Capacity,
    FreeCapacity,
    ScheduledRetry,
    fitting_jobs,
)
from agentbench.tasks.task import RepoSource, TaskEnvironment
from tests.runs.records import lost


@pytest.fixture
def needing(task):
    def made(**needs):
        return task.model_copy(update={"environment": TaskEnvironment(**needs)})

    return made


def test_what_runs_counts_with_what_its_task_declares(needing):
    capacity = Capacity(cpus=4, memory_mib=1000)
    big, small = needing(cpus=3, memory_mib=100), needing(cpus=1, memory_mib=100)
    capacity.take(big)
    assert capacity.free_capacity().holds(small)
    assert not capacity.free_capacity().holds(big)
    capacity.take(small)
    assert not capacity.free_capacity().holds(small)
    capacity.give_back(big)
    assert capacity.free_capacity().holds(big)


def test_services_count_as_much_as_their_sandbox(needing):
    capacity, task = Capacity(cpus=4, memory_mib=1000), needing(cpus=2, memory_mib=400)
    served = needing(cpus=2, memory_mib=400, compose="compose.yaml")
    capacity.take(served)
    assert not capacity.free_capacity().holds(task)
    capacity.give_back(served)
    capacity.take(task)
    assert not capacity.free_capacity().holds(served)
    assert capacity.free_capacity().holds(task)


def test_declared_memory_counts_although_it_is_not_used_yet(needing):
    capacity = Capacity(cpus=99, memory_mib=1000, available=lambda: 1 << 20)
    task = needing(memory_mib=600)
    capacity.take(task)
    assert not capacity.free_capacity().holds(task)


def test_nothing_starts_beside_another_while_the_machine_is_short_of_memory(needing):
    free = [50]
    capacity = Capacity(cpus=99, memory_mib=1 << 20, available=lambda: free[0])
    task = needing(memory_mib=100)
    capacity.take(task)
    assert not capacity.free_capacity().holds(task)
    free[0] = 100
    assert capacity.free_capacity().holds(task)


def test_the_only_attempt_may_start_on_whatever_machine(needing):
    capacity = Capacity(cpus=1, memory_mib=1, available=lambda: 1)
    assert capacity.free_capacity().holds(needing(cpus=64, memory_mib=1 << 20))


def test_as_many_as_were_asked_for_of_the_smallest_always_fit(needing):
    tasks = [needing(cpus=2, memory_mib=500), needing(cpus=8, memory_mib=4000)]
    capacity = Capacity.of_host(tasks, jobs=100, available=lambda: None)
    for _ in range(99):
        capacity.take(tasks[0])
    assert capacity.free_capacity().holds(tasks[0])
    assert not capacity.free_capacity().holds(tasks[1])


def test_jobs_fit_the_cores_and_the_memory(needing):
    memory = available_memory_mib()
    assert memory is not None
    assert fitting_jobs([needing(memory_mib=1)]) == 2 * available_cpus()
    assert fitting_jobs([needing(memory_mib=1, cpus=2.0 * available_cpus())]) == 1
    assert fitting_jobs([needing(memory_mib=memory * 2)]) == 1
    assert fitting_jobs([]) >= 1


PLENTY = FreeCapacity(cpus=99, memory_mib=1 << 20, is_all=False)


def item(task, name: str, *, repository: str = "", cpus: float = 1) -> PlannedAttempt:
    changed = task.model_copy(
        update={
            "problem": task.problem.model_copy(update={"id": name}),
            "source": RepoSource(url=f"https://host.example/{repository or name}", commit="c" * 40),
            "environment": TaskEnvironment(cpus=cpus),
        }
    )
    return PlannedAttempt(task=changed, attempt=1)


def taken(waiting: AttemptQueue, room: FreeCapacity = PLENTY) -> str | None:
    planned = waiting.take(room)
    return planned.task.id if planned is not None else None


def test_attempts_are_taken_in_their_order(task):
    waiting = AttemptQueue([item(task, "a"), item(task, "b")])
    assert [taken(waiting), taken(waiting), taken(waiting)] == ["a", "b", None]
    assert waiting.is_empty


def test_what_another_attempt_prepares_is_left_until_nothing_else_is_there(task):
    items = [item(task, name, repository="one") for name in "abc"] + [item(task, "x")]
    waiting = AttemptQueue(items)
    assert [taken(waiting) for _ in items] == ["a", "x", "b", "c"]


def test_once_it_is_prepared_the_order_is_kept(task):
    items = [item(task, name, repository="one") for name in "abc"] + [item(task, "x")]
    waiting = AttemptQueue(items)
    waiting.take(PLENTY)
    waiting.ended(items[0], prepared=True)
    assert [taken(waiting) for _ in range(3)] == ["b", "c", "x"]


def test_a_preparation_that_failed_is_still_to_be_made(task):
    items = [item(task, name, repository="one") for name in "abc"] + [item(task, "x")]
    waiting = AttemptQueue(items)
    waiting.take(PLENTY)
    waiting.ended(items[0], prepared=False)
    assert [taken(waiting) for _ in range(3)] == ["b", "x", "c"]


def test_known_tasks_are_prepared_from_the_start(task):
    items = [item(task, name, repository="one") for name in "abc"]
    waiting = AttemptQueue([*items, item(task, "x")], is_prepared=lambda _task: True)
    assert [taken(waiting) for _ in range(4)] == ["a", "b", "c", "x"]


def test_smaller_attempts_pass_one_that_there_is_no_room_for_but_not_for_ever(task):
    small = (item(task, f"small-{number}") for number in range(1000))
    waiting = AttemptQueue([item(task, "big", cpus=4), *small])
    room = FreeCapacity(cpus=2, memory_mib=1 << 20, is_all=False)
    passed = 0
    while taken(waiting, room) is not None:
        passed += 1
    assert passed == 256
    assert taken(waiting) == "big"


def test_what_is_made_again_is_made_when_it_is_due(task):
    waiting = AttemptQueue([])
    for due, name in ((7.0, "late"), (5.0, "soon")):
        waiting.put_back(ScheduledRetry(due=due, planned=item(task, name), last=lost()))
    assert not waiting.is_empty
    assert (waiting.to_retry, waiting.next_due) == (2, 5.0)
    assert waiting.take_again(PLENTY, now=4.9) is None
    full = FreeCapacity(cpus=0, memory_mib=0, is_all=False)
    assert waiting.take_again(full, now=5.0) is None
    soon = waiting.take_again(PLENTY, now=5.0)
    assert soon is not None
    assert soon.task.id == "soon"
    assert [again.planned.task.id for again in waiting.give_up()] == ["late"]
    assert waiting.is_empty


def test_few_of_very_many_are_in_memory(task):
    made = []

    def planned():
        for number in range(10_000):
            made.append(number)
            yield item(task, f"{number}")

    waiting = AttemptQueue(planned())
    waiting.take(PLENTY)
    assert len(made) == 256
