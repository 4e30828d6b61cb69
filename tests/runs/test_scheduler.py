import threading
from contextlib import closing
from datetime import timedelta

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.outages import CircuitBreaker, Requirement
from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.errors import OutageError
from agentbench.models.interface import ModelUsage
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import (
    AttemptQueue,
    Capacity,
    Schedule,
    fitting_jobs,
    retry_delay,
    run_attempts,
)
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import was_interrupted
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.task import RepoSource, TaskEnvironment
from agentbench.taxonomy import FailureReason, Fault
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.patience import HANG_SECONDS
from tests.runs.records import RUN, configuration, failed, interrupted, lost, resolved
from tests.sandbox.conformance_base import sh


@pytest.fixture
def needing(task):
    def made(**needs):
        return task.replace(environment=TaskEnvironment(**needs))

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
    assert fitting_jobs([needing(memory_mib=64)]) == 2 * available_cpus()
    assert fitting_jobs([needing(memory_mib=64, cpus=2.0 * available_cpus())]) == 1
    assert fitting_jobs([needing(memory_mib=memory * 2)]) == 1
    assert fitting_jobs([]) >= 1


class Item:
    """Something that waits for a slot."""

    def __init__(self, task) -> None:
        self.task = task

    def __repr__(self) -> str:
        return self.task.id


def item(task, name: str, *, repository: str = "", cpus: float = 1) -> Item:
    changed = task.replace(
        problem=task.problem.replace(id=name),
        source=RepoSource(url=f"https://host.example/{repository or name}", commit="c" * 40),
        environment=TaskEnvironment(cpus=cpus),
    )
    return Item(changed)


def queue_of(*items: Item, cpus: float = 99, **more) -> AttemptQueue[Item]:
    given = {"jobs": 999, "retries": 1, "capacity": Capacity(cpus=cpus, memory_mib=1 << 20)}
    queue: AttemptQueue[Item] = AttemptQueue(**{**given, **more})
    for each in items:
        queue.put(each)
    return queue


def taken(queue: AttemptQueue[Item]) -> list[Item]:
    found = []
    while (each := queue.take()) is not None:
        found.append(each)
    return found


def test_the_most_urgent_attempt_starts_first_and_equal_ones_in_their_order(task):
    low, high, other, raised = (item(task, name) for name in "abcd")
    queue = queue_of(low, other, raised)
    queue.put(high, priority=5)
    queue.raise_priority(raised, 9)
    queue.raise_priority(raised, 1)
    assert taken(queue) == [raised, high, low, other]
    assert (len(queue), queue.running) == (0, 4)


def test_no_more_attempts_start_than_slots(task):
    items = [item(task, name) for name in "abc"]
    queue = queue_of(*items, jobs=2)
    assert taken(queue) == items[:2]
    queue.ended(items[0], None)
    assert taken(queue) == items[2:]


def test_attempts_of_prepared_tasks_start_before_those_that_would_wait(task):
    a, b, c, x = *(item(task, name, repository="one") for name in "abc"), item(task, "x")
    assert taken(queue_of(a, b, c, x)) == [a, x, b, c]
    assert taken(queue_of(a, b, c, x, is_prepared=lambda _task: True)) == [a, b, c, x]


@pytest.mark.parametrize(("record", "order"), [(resolved(), "bcx"), (lost(), "bxc"), (None, "bxc")])
def test_a_preparation_counts_from_its_first_baseline_run(task, record, order):
    first, *others = *(item(task, name, repository="one") for name in "abc"), item(task, "x")
    queue = queue_of(first, *others)
    assert queue.take() is first
    queue.ended(first, record)
    assert "".join(map(repr, taken(queue))) == order


def test_smaller_attempts_pass_one_that_does_not_fit_but_not_forever(task):
    running, big = item(task, "running"), item(task, "big", cpus=4)
    small = [item(task, f"small-{number}") for number in range(300)]
    queue = queue_of(running, big, *small, cpus=4)
    assert queue.take() is running
    passed = 0
    while (each := queue.take()) is not None:
        queue.ended(each, None)
        passed += 1
    assert passed == 256
    queue.ended(running, None)
    assert queue.take() is big


def test_a_retry_starts_when_it_is_due_and_before_new_attempts(task):
    now = [100.0]
    failing, other = item(task, "a"), item(task, "b")
    queue = queue_of(failing, retries=2, clock=lambda: now[0], back_off=lambda n: 10.0 * n)
    assert queue.take() is failing
    queue.ended(failing, lost())
    assert queue.retry(failing, lost()) == 10.0
    assert (queue.next_due, queue.take(), len(queue)) == (110.0, None, 1)
    now[0] = 110.0
    queue.put(other, priority=9)
    assert taken(queue) == [failing, other]
    queue.ended(failing, lost())
    assert queue.retry(failing, lost()) == 20.0
    assert queue.retry(failing, lost()) is None, "two retries are all"


@pytest.mark.parametrize("record", [resolved(), failed(), interrupted()])
def test_only_failures_of_the_infrastructure_are_retried(task, record):
    assert queue_of(retries=9).retry(item(task, "a"), record) is None


def test_nothing_new_starts_while_more_retries_wait_than_there_are_slots(task):
    items = [item(task, name) for name in "abc"]
    queue = queue_of(*items, jobs=1, back_off=lambda _failures: 60.0)
    for each in items[:2]:
        assert queue.take() is each
        queue.ended(each, lost())
        queue.retry(each, lost())
    assert queue.take() is None
    queue.remove(items[0])
    assert queue.take() is items[2]


def test_waiting_attempts_can_be_removed(task):
    one, two = item(task, "a"), item(task, "b")
    queue = queue_of(one, two)
    queue.remove(one)
    queue.remove(one)
    assert queue.clear() == [two]
    assert len(queue) == 0


DONE = AgentOutcome(ending=AgentEnding.SUBMITTED)


class Clockless(threading.Event):
    """An event that nobody waits for; it notes for how long they would have."""

    def __init__(self, *, cancels_at: int | None = None) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._cancels_at = cancels_at

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        if len(self.waits) == self._cancels_at:
            self.set()
        return self.is_set()


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


def planned(task, count: int = 1) -> list[PlannedAttempt]:
    return [PlannedAttempt(task=task, attempt=number) for number in range(1, count + 1)]


def made(planned, agent, shop, store, **more):
    """The records of attempts in threads, retried at once."""
    given = {
        "jobs": 1,
        "retries": 0,
        "capacity": Capacity(cpus=99, memory_mib=1 << 20),
        "cancel": shop.cancel,
        "back_off": lambda _tries: 0.0,
        **more,
    }
    tries = LocalAttempts(run_id=RUN, agent=agent, resources=shop, store=store)
    executor = LocalExecutor(tries.make, jobs=given["jobs"])
    return run_attempts(planned, executor, Schedule(**given))


def test_an_attempt_is_yielded_when_it_is_on_disk(task, workshop, store):
    records = made(planned(task, 2), NoopAgent(), workshop(), store)
    seen = []
    for record in records:
        seen.append(record)
        assert tuple(read_run(store.folder).records()) == tuple(seen)
    assert [record.attempt for record in seen] == [1, 2]


def test_what_the_infrastructure_failed_is_made_again(task, workshop, store, provider):
    shop = workshop(UnreliableProvider(provider, refusals=2), use_cache=False)
    waits = []
    (record,) = made(
        planned(task),
        NoopAgent(),
        shop,
        store,
        retries=5,
        back_off=lambda tries: waits.append(tries) or 0.0,
    )
    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert record.retry_of == 2
    tries = tuple(read_run(store.folder).records())
    assert [each.failure_reason for each in tries[:2]] == [FailureReason.SANDBOX_ERROR] * 2
    assert len(tries) == 3
    assert waits == [1, 2]


def test_the_wait_for_a_retry_grows_to_half_a_minute():
    assert all(0 <= retry_delay(tries) <= min(30, 2 ** (tries - 1)) for tries in range(1, 50))


def test_retries_are_used_up(task, workshop, store):
    shop, result = workshop(UnreliableProvider()), []
    (record,) = made(
        planned(task),
        NoopAgent(),
        shop,
        store,
        retries=2,
        on_retry=lambda failed, _seconds: result.append(failed.failure_reason),
    )
    assert record.fault is Fault.INFRASTRUCTURE
    assert record.retry_of == 2
    assert result == [record.failure_reason] * 2


def test_others_are_made_while_one_waits_for_its_retry(task, workshop, store, provider):
    now = [0.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    shop = workshop(UnreliableProvider(provider, refusals=1), use_cache=False)
    records = made(
        planned(task, 2),
        NoopAgent(),
        shop,
        store,
        retries=1,
        back_off=lambda _tries: 0.04,
        clock=clock,
    )
    assert [(record.attempt, record.retry_of) for record in records] == [(2, None), (1, 1)]


def test_ctrl_c_ends_the_waiting_for_a_retry(task, workshop, store):
    shop = workshop(UnreliableProvider())

    def cancels(_tries: int) -> float:
        shop.cancel.set()
        return 3600.0

    (record,) = made(planned(task, 3), NoopAgent(), shop, store, retries=9, back_off=cancels)
    assert record.fault is Fault.INFRASTRUCTURE
    assert len(tuple(read_run(store.folder).records())) == 1


def test_an_attempt_that_there_is_no_room_for_waits(task, workshop, store):
    big = task.replace(environment=TaskEnvironment(cpus=2))
    running, most, lock = [0], [0], threading.Lock()

    def work(_given):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1
        return DONE

    records = made(
        planned(big, 2),
        ScriptedAgent(work),
        workshop(),
        store,
        jobs=2,
        capacity=Capacity(cpus=3, memory_mib=1 << 20),
    )
    assert len(list(records)) == 2
    assert most == [1]


def test_no_more_attempts_run_at_a_time_than_jobs(task, workshop, store):
    both, lock = threading.Barrier(2), threading.Lock()
    running: list[int] = []
    most = [0]

    def work(_given):
        with lock:
            running.append(1)
            most[0] = max(most[0], len(running))
        both.wait(HANG_SECONDS)
        with lock:
            running.pop()
        return DONE

    records = list(made(planned(task, 4), ScriptedAgent(work), workshop(), store, jobs=2))
    assert most == [2]
    assert [record.agent_run.ending for record in records] == [AgentEnding.SUBMITTED] * 4


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0.0, 0),
        (1.0, 1),
    ],
)
def test_no_attempt_is_started_once_the_money_is_spent(task, workshop, store, limit, expected):
    outcome = AgentOutcome(ending=AgentEnding.SUBMITTED, usage=ModelUsage(cost_usd=1.0))
    agent = ScriptedAgent(lambda _given: outcome)
    records = made(planned(task, 3), agent, workshop(), store, max_cost_usd=limit)
    assert len(list(records)) == expected


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), (None, 3)])
def test_no_attempt_is_started_once_as_many_failed_as_may(task, workshop, store, limit, expected):
    agent = ScriptedAgent(lambda _given: DONE)
    records = made(planned(task, 3), agent, workshop(), store, max_failures=limit)
    assert [record.resolved for record in records] == [False] * expected


def test_infrastructure_failures_do_not_count_as_failures(task, workshop, store):
    shop = workshop(UnreliableProvider())
    records = made(planned(task, 3), NoopAgent(), shop, store, retries=0, max_failures=1)
    assert [record.fault for record in records] == [Fault.INFRASTRUCTURE] * 3


def test_closing_the_iterator_cuts_off_what_is_under_way(task, workshop, store):
    begun = threading.Event()

    def work(given):
        if begun.is_set():
            begun.wait(HANG_SECONDS)
            return DONE
        begun.set()
        sh(given.sandbox, "sleep 600")
        return DONE

    shop = workshop()
    records = made(planned(task, 9), ScriptedAgent(work), shop, store, jobs=2)
    with closing(records):
        assert next(records).agent_run is not None
    assert shop.cancel.is_set()
    left = tuple(read_run(store.folder).records())
    assert sum(map(was_interrupted, left)) >= 1
    assert len(left) < 9


def test_after_ctrl_c_nothing_is_started(task, workshop, store):
    shop = workshop()
    shop.cancel.set()
    assert list(made(planned(task, 5), NoopAgent(), shop, store, jobs=2, retries=3)) == []


def test_nothing_planned_is_nothing_done(workshop, store):
    assert list(made([], NoopAgent(), workshop(), store)) == []


def test_only_our_own_ctrl_c_interrupts():
    assert was_interrupted(interrupted())
    for record in (resolved(), failed(), lost()):
        assert not was_interrupted(record)


def test_nothing_is_tried_while_something_is_away(task, workshop, store):
    engine = iter(["the engine is away", "still away", None])
    result = []
    need = Requirement(fault=lambda: next(engine, None), patience=timedelta(minutes=1))
    breaker = CircuitBreaker([need], cancel=Clockless(), say=result.append)
    (record,) = made(planned(task), NoopAgent(), workshop(breaker=breaker), store)
    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert len(tuple(read_run(store.folder).records())) == 1
    assert len(result) == 2


def test_what_stays_away_ends_the_run_and_burns_no_try(task, workshop, store):
    need = Requirement(fault=lambda: "the engine is away", patience=timedelta(0))
    shop = workshop(breaker=CircuitBreaker([need], cancel=Clockless()))
    with pytest.raises(OutageError, match="the engine is away"):
        list(made(planned(task, 3), NoopAgent(), shop, store, retries=5))
    assert tuple(read_run(store.folder).records()) == ()


def test_a_model_is_asked_again_after_an_attempt_that_the_infrastructure_failed(
    task, workshop, store
):
    asked = []
    need = Requirement(fault=lambda: asked.append(1), patience=timedelta(minutes=1), costly=True)
    shop = workshop(
        UnreliableProvider(),
        cancel=Clockless(),
        breaker=CircuitBreaker([need], cancel=Clockless()),
    )
    list(made(planned(task), NoopAgent(), shop, store, retries=2))
    assert len(asked) == 2
