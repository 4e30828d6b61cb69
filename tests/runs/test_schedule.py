import threading
from contextlib import closing
from datetime import timedelta

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.outages import CircuitBreaker, Requirement
from agentbench.errors import OutageError
from agentbench.models.interface import ModelUsage
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import Capacity, Schedule, retry_delay, run_attempts
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import was_interrupted
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.task import TaskEnvironment
from agentbench.taxonomy import FailureReason, Fault
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.patience import HANG_SECONDS
from tests.runs.records import RUN, configuration, failed, interrupted, lost, resolved
from tests.sandbox.conformance_base import sh

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
    shop, said = workshop(UnreliableProvider()), []
    (record,) = made(
        planned(task),
        NoopAgent(),
        shop,
        store,
        retries=2,
        on_retry=lambda failed, _seconds: said.append(failed.failure_reason),
    )
    assert record.fault is Fault.INFRASTRUCTURE
    assert record.retry_of == 2
    assert said == [record.failure_reason] * 2


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


def test_what_the_agent_failed_is_not_made_again(task, workshop, store):
    (record,) = made(planned(task), NoopAgent(), workshop(), store, retries=5)
    assert record.fault is Fault.AGENT
    assert len(tuple(read_run(store.folder).records())) == 1


def test_ctrl_c_ends_the_waiting_for_a_retry(task, workshop, store):
    shop = workshop(UnreliableProvider())

    def cancels(_tries: int) -> float:
        shop.cancel.set()
        return 3600.0

    (record,) = made(planned(task, 3), NoopAgent(), shop, store, retries=9, back_off=cancels)
    assert record.fault is Fault.INFRASTRUCTURE
    assert len(tuple(read_run(store.folder).records())) == 1


def test_an_attempt_that_there_is_no_room_for_waits(task, workshop, store):
    big = task.model_copy(update={"environment": TaskEnvironment(cpus=2)})
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
        pytest.param(1.5, 2, marks=pytest.mark.soak),
        pytest.param(None, 3, marks=pytest.mark.soak),  # as all other tests here
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
    said = []
    need = Requirement(fault=lambda: next(engine, None), patience=timedelta(minutes=1))
    breaker = CircuitBreaker([need], cancel=Clockless(), say=said.append)
    (record,) = made(planned(task), NoopAgent(), workshop(breaker=breaker), store)
    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert len(tuple(read_run(store.folder).records())) == 1
    assert len(said) == 2


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
