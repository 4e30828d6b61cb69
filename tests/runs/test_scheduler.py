import pytest

from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.runs.scheduler import Capacity, fitting_jobs
from agentbench.tasks.task import TaskEnvironment


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
