import json
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from agentbench import Judge, __version__
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.executor_name import ExecutorName
from agentbench.attempt.settings import RunSettings
from agentbench.extensions.ray.remote_attempt import RemoteAttempt, WorkerConfig
from agentbench.runs.options import RunOptions
from agentbench.runs.plan import Plan, PlannedAttempt
from agentbench.runs.scheduler import Capacity, Schedule, run_attempts
from agentbench.runs.start import resume_run, start_run
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import was_interrupted
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.models.client import command
from tests.e2e.small_task import FIX
from tests.extensions.ray.conftest import needs_ray, quiet_ray
from tests.fakes.scripted_model import Asked, Say, ScriptedModel
from tests.fakes.staging import local_provider, small_task
from tests.judge.conftest import FIX as SMALL_FIX
from tests.judge.conftest import SLOW
from tests.runs.executors.conformance import ExecutorConformance, all_ended
from tests.runs.records import RUN, configuration

pytestmark = [pytest.mark.first, needs_ray, quiet_ray]

WORKER = WorkerConfig(
    run_id=RUN,
    agentbench_version=__version__,
    agent="noop",
    sandbox=local_provider().name,
    settings=RunSettings(integrity_controls=ControlLevel.OFF),
)


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


@pytest.fixture(scope="session")
def lasting_node(cluster, tmp_path_factory):
    from tests.extensions.ray.nodes import add_node

    return add_node(cluster, tmp_path_factory.mktemp("first") / "cache")


@pytest.fixture
def on_cluster(lasting_node, workshop, store):
    assert lasting_node is not None
    from agentbench.extensions.ray.ray_cluster import RayExecutor

    def made(shop=None, **more):
        worker = replace(WORKER, **more.pop("worker", {}))
        return RayExecutor(worker, NoopAgent(), shop or workshop(), store, **more)

    return made


class TestRayExecutor(ExecutorConformance):
    @pytest.fixture
    def executor(self, on_cluster):
        return on_cluster()


@pytest.mark.usefixtures("lasting_node")
def test_run_on_a_cluster_equals_a_local_run(task, tmp_path):
    given = RunOptions(
        agent="oracle",
        executor=ExecutorName.RAY,
        sandbox=local_provider().name,
        attempts=3,
        runs_dir=tmp_path,
    )
    run = start_run([task], given)
    assert run.configuration.jobs == 2
    with closing(run.attempts()) as records:
        assert next(records).resolved
    left = resume_run(run.store.folder)
    assert 1 <= len(left.planned) <= 2
    assert all(record.resolved for record in left.attempts())
    assert {record.attempt for record in left.store.latest()} == {1, 2, 3}
    assert RunStore.open(run.store.folder).configuration().ending == "finished"


@pytest.mark.usefixtures("lasting_node")
def test_attempts_on_a_cluster_reach_their_model(task, tmp_path, monkeypatch):
    from tests.extensions.ray.nodes import MODEL_KEY

    with ScriptedModel(_mends, key=MODEL_KEY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)  # the driver's, who asks first
        given = RunOptions(
            agent="command",
            agent_command=command("openai-chat", 3),
            model="openai/scripted",
            base_url=server.base_url,
            executor=ExecutorName.RAY,
            sandbox=local_provider().name,
            attempts=2,
            integrity_controls=ControlLevel.OFF,
            runs_dir=tmp_path,
        )
        records = list(start_run([task], given).attempts())
    assert [record.resolved for record in records] == [True, True], records[0].detail
    assert [record.model for record in records] == ["scripted", "scripted"]
    assert [record.usage.requests for record in records] == [2, 2]


def _mends(asked: Asked) -> Say:
    return Say("done") if "run: " in json.dumps(asked.body) else Say(f"run: {FIX}")


def test_record_names_its_node(on_cluster, task):
    with on_cluster() as executor:
        executor.start(PlannedAttempt(task=task, attempt=1))
        (over,) = all_ended(executor, 1)
    assert over.record.environment.facts["node"]
    assert over.record.timing.queue_wait_s >= 0


def test_node_with_another_version_refuses(on_cluster, task):
    with on_cluster(worker={"agentbench_version": "0.0.0"}) as executor:
        executor.start(PlannedAttempt(task=task, attempt=1))
        (over,) = all_ended(executor, 1)
    assert over.record.failure_reason is FailureReason.SANDBOX_ERROR
    assert over.record.fault is Fault.INFRASTRUCTURE
    assert "install the same on every node" in over.record.detail


def test_interrupt_ends_running_and_waiting_attempts(on_cluster, store, task, workshop):
    shop = workshop()
    with on_cluster(shop, make=_interruptible) as executor:
        for attempt in (1, 2, 3):
            executor.start(PlannedAttempt(task=task, attempt=attempt))
        shop.cancel.set()
        over = all_ended(executor, 3)
    assert all(was_interrupted(each.record) for each in over)
    assert len(tuple(read_run(store.folder).records())) == 3


def _interruptible(_errand: RemoteAttempt):
    while True:
        threading.Event().wait(0.1)


def _dies(_errand: RemoteAttempt):
    import os

    os._exit(9)


def test_dead_worker_is_an_infrastructure_failure(on_cluster, store, task):
    with on_cluster(make=_dies) as executor:
        executor.start(PlannedAttempt(task=task, attempt=1))
        (over,) = all_ended(executor, 1)
    assert over.record.fault is Fault.INFRASTRUCTURE
    assert over.record.failure_reason is FailureReason.SANDBOX_ERROR
    assert tuple(read_run(store.folder).records()) == (over.record,)


def _bug(_errand: RemoteAttempt):
    raise ZeroDivisionError("a bug")


def test_bug_is_raised(on_cluster, task):
    executor = on_cluster(make=_bug)
    for attempt in (1, 2):
        executor.start(PlannedAttempt(task=task, attempt=attempt))
    with pytest.raises(ZeroDivisionError):
        all_ended(executor, 2)
    with pytest.raises(ZeroDivisionError):  # the other one's, and no waiting for the first
        executor.__exit__(None, None, None)


def _busy_on_second(attempt: RemoteAttempt):
    import os
    from pathlib import Path

    from agentbench.extensions.ray.remote_attempt import run_on_node

    cache = Path(os.environ["AGENTBENCH_CACHE"])
    if cache.name != "second":
        return run_on_node(attempt)
    (cache / "busy").touch()
    while True:
        threading.Event().wait(1)


def test_lost_node_costs_retries_and_no_verdict(
    on_cluster, cluster, store, task, workshop, tmp_path
):
    from tests.extensions.ray.nodes import add_node

    cache = tmp_path / "second"
    second = add_node(cluster, cache)

    def lose_it() -> None:
        while not (cache / "busy").exists():
            threading.Event().wait(0.1)
        cluster.remove_node(second, allow_graceful=False)

    threading.Thread(target=lose_it, daemon=True).start()
    shop = workshop()
    schedule = Schedule(
        jobs=4,
        retries=2,
        capacity=Capacity(cpus=99, memory_mib=1 << 20),
        cancel=shop.cancel,
        back_off=lambda _tries: 0.0,
    )
    executor = on_cluster(shop, make=_busy_on_second)
    verdicts = {
        record.attempt: record.failure_reason
        for record in run_attempts(Plan([task], 16), executor, schedule)
    }
    assert verdicts == dict.fromkeys(range(1, 17), FailureReason.TESTS_FAILED)
    records = tuple(read_run(store.folder).records())
    lost = [record for record in records if record.fault is Fault.INFRASTRUCTURE]
    assert 1 <= len(lost) <= 2
    assert {record.attempt for record in records if record.retry_of} == {
        record.attempt for record in lost
    }


def test_remote_attempts_are_in_the_live_status(on_cluster, workshop, task):
    shop = workshop()
    with on_cluster(shop) as executor:
        executor.start(PlannedAttempt(task=task, attempt=4))
        (entry,) = shop.live_status.running()
        assert (entry.task_id, entry.attempt, entry.where) == (task.id, 4, "the cluster")
        all_ended(executor, 1)
        assert shop.live_status.running() == ()


def test_judge_scores_changes_on_the_cluster(lasting_node, tmp_path):
    assert lasting_node is not None
    task = small_task(tmp_path / "small")
    options = RunOptions(runs_dir=tmp_path / "runs", executor=ExecutorName.RAY, retries=0)
    with Judge(sandbox=WORKER.sandbox, use_verdicts=False, options=options) as judge:
        assert judge.jobs >= 2  # other tests may have added nodes
        scorings = [judge.score(task, patch=patch) for patch in (SMALL_FIX, "", "no patch")]
        verdicts = [scoring.result() for scoring in scorings]
        cancelled = judge.score(task, patch=SLOW)
        records = [
            json.loads((judge.folder / verdict.folder / "record.json").read_text())
            for verdict in verdicts
        ]
    assert [verdict.reward for verdict in verdicts] == [1.0, 0.0, 0.0]
    assert all("node" in record["environment"]["facts"] for record in records)
    assert cancelled.future.cancelled()
