import threading
from contextlib import closing
from datetime import timedelta

import pytest

from agentbench.agents.interface import AgentOutcome, Usage
from agentbench.agents.noop import NoopAgent
from agentbench.errors import OutageError
from agentbench.runs.outage import CircuitBreaker, Need
from agentbench.runs.schedule import Planned, Schedule, run_attempts, was_interrupted
from agentbench.runs.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from agentbench.scoring.taxonomy import FailureReason, Fault
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.unreliable_provider import UnreliableProvider
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


def planned(task, count: int = 1) -> list[Planned]:
    return [Planned(task=task, attempt=number) for number in range(1, count + 1)]


def schedule(**more) -> Schedule:
    return Schedule(**{"run_id": RUN, "jobs": 1, "retries": 0, **more})


def test_an_attempt_is_yielded_when_it_is_on_disk(task, workshop, store):
    started = []
    records = run_attempts(
        planned(task, 2), NoopAgent(), workshop(), store, schedule(on_start=started.append)
    )
    seen = []
    for record in records:
        seen.append(record)
        assert store.read().records == tuple(seen)
    assert [record.attempt for record in seen] == [1, 2]
    assert started == planned(task, 2)


def test_what_the_infrastructure_failed_is_made_again(task, workshop, store, provider):
    cancel = Clockless()
    unreliable = UnreliableProvider(provider, refusals=2)
    shop = workshop(unreliable, cancel=cancel, use_cache=False)
    (record,) = run_attempts(planned(task), NoopAgent(), shop, store, schedule(retries=5))
    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert record.retry_of == 2
    tries = store.read().records
    assert [each.failure_reason for each in tries[:2]] == [FailureReason.SANDBOX_ERROR] * 2
    assert len(tries) == 3
    assert len(cancel.waits) == 2
    assert all(0 <= seconds <= 30 for seconds in cancel.waits)


def test_retries_are_used_up(task, workshop, store):
    cancel = Clockless()
    shop = workshop(UnreliableProvider(), cancel=cancel)
    (record,) = run_attempts(planned(task), NoopAgent(), shop, store, schedule(retries=2))
    assert record.fault is Fault.INFRASTRUCTURE
    assert record.retry_of == 2
    assert len(cancel.waits) == 2


def test_what_the_agent_failed_is_not_made_again(task, workshop, store):
    cancel = Clockless()
    shop = workshop(cancel=cancel)
    (record,) = run_attempts(planned(task), NoopAgent(), shop, store, schedule(retries=5))
    assert record.fault is Fault.AGENT
    assert cancel.waits == []
    assert len(store.read().records) == 1


def test_ctrl_c_ends_the_waiting_for_a_retry(task, workshop, store):
    cancel = Clockless(cancels_at=1)
    shop = workshop(UnreliableProvider(), cancel=cancel)
    (record,) = run_attempts(planned(task, 3), NoopAgent(), shop, store, schedule(retries=9))
    assert was_interrupted(record)
    assert len(cancel.waits) == 1


def test_no_more_attempts_run_at_a_time_than_jobs(task, workshop, store):
    both, lock = threading.Barrier(2), threading.Lock()
    running: list[int] = []
    most = [0]

    def work(_given):
        with lock:
            running.append(1)
            most[0] = max(most[0], len(running))
        both.wait(60)
        with lock:
            running.pop()
        return DONE

    records = list(
        run_attempts(planned(task, 4), ScriptedAgent(work), workshop(), store, schedule(jobs=2))
    )
    assert most == [2]
    assert [record.agent_run.ending for record in records] == [AgentEnding.SUBMITTED] * 4


@pytest.mark.parametrize(("limit", "made"), [(0.0, 1), (1.0, 1), (1.5, 2), (None, 3)])
def test_no_attempt_is_started_once_the_money_is_spent(task, workshop, store, limit, made):
    outcome = AgentOutcome(ending=AgentEnding.SUBMITTED, usage=Usage(cost_usd=1.0))
    agent = ScriptedAgent(lambda _given: outcome)
    records = run_attempts(planned(task, 3), agent, workshop(), store, schedule(max_cost_usd=limit))
    assert len(list(records)) == made


def test_closing_the_iterator_cuts_off_what_is_under_way(task, workshop, store):
    begun = threading.Event()

    def work(given):
        if begun.is_set():
            begun.wait(60)
            return DONE
        begun.set()
        sh(given.sandbox, "sleep 600")
        return DONE

    shop = workshop()
    records = run_attempts(planned(task, 9), ScriptedAgent(work), shop, store, schedule(jobs=2))
    with closing(records):
        assert next(records).agent_run is not None
    assert shop.cancel.is_set()
    left = store.read().records
    assert sum(map(was_interrupted, left)) >= 1
    assert len(left) < 9


def test_after_ctrl_c_nothing_is_started(task, workshop, store):
    shop = workshop()
    shop.cancel.set()
    records = list(
        run_attempts(planned(task, 5), NoopAgent(), shop, store, schedule(jobs=2, retries=3))
    )
    assert len(records) == 2
    assert all(map(was_interrupted, records))


def test_nothing_planned_is_nothing_done(workshop, store):
    assert list(run_attempts([], NoopAgent(), workshop(), store, schedule())) == []


def test_only_our_own_ctrl_c_interrupts():
    assert was_interrupted(interrupted())
    for record in (resolved(), failed(), lost()):
        assert not was_interrupted(record)


def test_nothing_is_tried_while_something_is_away(task, workshop, store):
    engine = iter(["the engine is away", "still away", None])
    made = []
    need = Need(fault=lambda: next(engine, None), patience=timedelta(minutes=1))
    breaker = CircuitBreaker([need], cancel=Clockless(), say=made.append)
    (record,) = run_attempts(
        planned(task), NoopAgent(), workshop(breaker=breaker), store, schedule()
    )
    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert len(store.read().records) == 1
    assert len(made) == 2


def test_what_stays_away_ends_the_run_and_burns_no_try(task, workshop, store):
    need = Need(fault=lambda: "the engine is away", patience=timedelta(0))
    shop = workshop(breaker=CircuitBreaker([need], cancel=Clockless()))
    with pytest.raises(OutageError, match="the engine is away"):
        list(run_attempts(planned(task, 3), NoopAgent(), shop, store, schedule(retries=5)))
    assert store.read().records == ()


def test_a_model_is_asked_again_after_an_attempt_that_the_infrastructure_failed(
    task, workshop, store
):
    asked = []
    need = Need(fault=lambda: asked.append(1), patience=timedelta(minutes=1), costly=True)
    shop = workshop(
        UnreliableProvider(),
        cancel=Clockless(),
        breaker=CircuitBreaker([need], cancel=Clockless()),
    )
    list(run_attempts(planned(task), NoopAgent(), shop, store, schedule(retries=2)))
    assert len(asked) == 2
