import subprocess
import sys

import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.attempt.outages import CircuitBreaker
from agentbench.errors import OutageError
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import StageName
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.patience import HANG_SECONDS
from tests.runs.executors.conformance import ExecutorConformance
from tests.runs.records import RUN, configuration


def test_this_machine_has_none_elsewhere_and_ray_is_not_imported():
    program = (
        "import sys\n"
        "from agentbench.attempt.executor_name import ExecutorName\n"
        "from agentbench.runs.executors.local import slots_elsewhere\n"
        "import agentbench.runs.run\n"
        "print(slots_elsewhere(ExecutorName.LOCAL), 'ray' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert result.stdout.split() == [b"None", b"False"]


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


class TestLocalExecutor(ExecutorConformance):
    @pytest.fixture
    def executor(self, workshop, store):
        tries = LocalAttempts(run_id=RUN, agent=NoopAgent(), resources=workshop(), store=store)
        return LocalExecutor(tries.make, jobs=2)


def test_what_a_try_raises_is_raised_where_its_end_is_awaited(task):
    def away(_planned):
        raise OutageError("the engine is away")

    with LocalExecutor(away, jobs=1) as executor:
        executor.start(PlannedAttempt(task=task, attempt=1))
        with pytest.raises(OutageError, match="the engine is away"):
            executor.ended(within=HANG_SECONDS)


class Breaker(CircuitBreaker):
    """Notes that it was told of a suspicion."""

    suspected = False

    def suspect(self) -> None:
        self.suspected = True


def tried(workshop, folder, task, agent=None):
    store = RunStore.create(folder, configuration())
    tries = LocalAttempts(run_id=RUN, agent=agent or NoopAgent(), resources=workshop, store=store)
    return tries.make(PlannedAttempt(task=task, attempt=1)), store


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
