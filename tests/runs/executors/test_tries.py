from agentbench.agents.reference import NoopAgent
from agentbench.attempt.outages import CircuitBreaker
from agentbench.runs.executors.local import LocalAttempts
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import StageName
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.runs.records import RUN, configuration


class Breaker(CircuitBreaker):
    """Notes that it was told of a suspicion."""

    suspected = False

    def suspect(self) -> None:
        self.suspected = True


def tried(workshop, folder, task, agent=None):
    store = RunStore.create(folder, configuration())
    tries = LocalAttempts(run_id=RUN, agent=agent or NoopAgent(), resources=workshop, store=store)
    return tries.make(PlannedAttempt(task=task, attempt=1)), store


def test_a_try_is_on_disk_when_it_is_over(task, workshop, tmp_path):
    record, store = tried(workshop(), tmp_path, task)
    assert tuple(read_run(store.folder, whole=True).records()) == (record,)
    assert record.timing.queue_wait_s >= 0


def test_a_lost_one_is_a_reason_to_look_at_everything(task, workshop, tmp_path):
    shop = workshop()
    breaker = Breaker(cancel=shop.cancel)
    tried(workshop(breaker=breaker), tmp_path / "well", task)
    assert not breaker.suspected
    tried(workshop(UnreliableProvider(), breaker=breaker), tmp_path / "lost", task)
    assert breaker.suspected


def test_a_try_is_on_the_board_with_its_stage_while_it_is_under_way(task, workshop, tmp_path):
    shop, seen = workshop(), []

    def look(_given):
        seen.extend((each.task_id, each.attempt, each.stage) for each in shop.live_status.running())

    tried(shop, tmp_path, task, ScriptedAgent(look))
    assert seen == [(task.id, 1, StageName.AGENT_RUN)]
    assert shop.live_status.running() == ()


def test_a_try_that_is_lost_leaves_the_board(task, workshop, tmp_path):
    shop = workshop(UnreliableProvider())
    tried(shop, tmp_path, task)
    assert shop.live_status.running() == ()
