import json
import platform
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.attempt.attempt import run_attempt
from agentbench.attempt.logs import EventKind, read_events
from agentbench.attempt.resources import AttemptSlot
from agentbench.attempt.task_image import resolve_image
from agentbench.core.file_locks import FileLock
from agentbench.errors import SandboxError, UnavailableError
from agentbench.runs.store.summaries import was_interrupted
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.task import TaskEnvironment
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.fakes.scripted_agent import Given, ScriptedAgent
from tests.fakes.staging import small_task
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.runs.records import RUN
from tests.sandbox.conformance_base import sh

PREPARED = list(StageName)[:3]


@pytest.fixture
def place(tmp_path):
    def made(number: int = 1, **more) -> AttemptSlot:
        folder = tmp_path / "attempts" / str(number)
        folder.mkdir(parents=True)
        return AttemptSlot(folder=folder, run_id=RUN, attempt=number, **more)

    return made


@pytest.fixture
def uncontrolled(workshop):
    return partial(workshop, integrity_controls=ControlLevel.OFF)


def oracle(task) -> OracleAgent:
    return OracleAgent({task.id: task.answer_key.solution_patch})


def cached(record) -> list[StageName]:
    return [stage.name for stage in record.stages if stage.cached]


def test_attempt_runs_six_stages_and_stores_their_files(task, workshop, place, tmp_path):
    here = place(3, retry_of=2)
    record = run_attempt(task, oracle(task), workshop(folder=tmp_path), here)
    assert record.resolved
    assert (record.run_id, record.task_id, record.attempt, record.retry_of) == (RUN, task.id, 3, 2)
    assert [stage.name for stage in record.stages] == list(StageName)
    assert cached(record) == []
    for stage in record.stages:
        assert stage.log is not None
        assert (here.folder / stage.log).is_file()
        assert stage.timeout_s is not None
    names = {path.name for path in here.folder.iterdir()}
    assert names == {
        "events.jsonl", "stages", "baseline.json", "final.json", "patch.diff",
        "sealed.json",
    }  # fmt: skip
    assert record.environment.python == platform.python_version()
    assert record.environment.image_name is None
    timing = record.timing
    own = timing.agent_s + timing.tests_s + timing.setup_s + timing.controls_s
    assert timing.overhead_s == pytest.approx(timing.total_s - own)


def test_second_attempt_uses_the_stored_preparation(task, workshop, place, tmp_path):
    shop = workshop(folder=tmp_path)
    run_attempt(task, NoopAgent(), shop, place(1))
    here = place(2)
    record = run_attempt(task, oracle(task), shop, here)
    assert record.resolved
    assert cached(record) == [*PREPARED, StageName.BASELINE_RUN]
    assert json.loads((here.folder / "baseline.json").read_text())["summary"]["failed"] == 2
    assert record.stages[0].log is None


def test_incomplete_preparation_is_recreated(task, uncontrolled, place, tmp_path):
    shop = uncontrolled(folder=tmp_path)
    run_attempt(task, NoopAgent(), shop, place(1))
    for base in (tmp_path / "prepared").rglob("base.contents"):
        base.write_bytes(b"torn")
    record = run_attempt(task, oracle(task), shop, place(2))
    assert record.resolved
    assert StageName.SETUP not in cached(record)
    assert StageName.SETUP in cached(run_attempt(task, NoopAgent(), shop, place(3)))


def test_parallel_attempts_prepare_once(task, uncontrolled, place, tmp_path):
    shop = uncontrolled(folder=tmp_path)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(run_attempt, task, oracle(task), shop, place(n)) for n in (1, 2)]
        records = [future.result() for future in futures]
    assert all(record.resolved for record in records)
    made = [record for record in records if StageName.SETUP not in cached(record)]
    assert len(made) == 1


def test_attempt_without_cache_reads_and_stores_nothing(task, workshop, place, tmp_path):
    shop = workshop(folder=tmp_path, use_cache=False)
    for number in (1, 2):
        record = run_attempt(task, NoopAgent(), shop, place(number))
        assert cached(record) == []
        assert record.failure_reason is FailureReason.TESTS_FAILED
        assert record.environment.snapshot is not None
    assert [path for path in (tmp_path / "prepared").rglob("*") if path.is_file()] == []
    key = record.environment.snapshot.rpartition(":")[2]
    assert shop.provider.find(key) is None


def test_passing_baseline_ends_the_attempt_before_the_agent(workshop, place, tmp_path):
    hidden = "def test_every_price_counts():\n    pass\n"
    listed = ("tests/test_hidden.py::test_every_price_counts",)
    task = small_task(tmp_path / "small", hidden=hidden, fail_to_pass=listed)
    paid = []
    agent = ScriptedAgent(paid.append)
    record = run_attempt(task, agent, workshop(folder=tmp_path), place())
    assert record.failure_reason is FailureReason.BASELINE_NOT_FAILING
    assert [stage.name for stage in record.stages] == list(StageName)[:4]
    assert paid == []


def test_baseline_with_warnings_is_not_stored(workshop, place, tmp_path):
    task = small_task(tmp_path / "small", fail_to_pass=("tests/test_hidden.py::test_absent",))
    shop = workshop(folder=tmp_path)
    assert run_attempt(task, NoopAgent(), shop, place(1)).warnings
    record = run_attempt(task, NoopAgent(), shop, place(2))
    assert cached(record) == PREPARED
    assert record.warnings


def test_unavailable_engine_becomes_a_record(task, workshop, place):
    record = run_attempt(task, NoopAgent(), workshop(UnreliableProvider()), place())
    assert (record.failure_reason, record.fault) == (
        FailureReason.SANDBOX_ERROR,
        Fault.INFRASTRUCTURE,
    )
    assert [stage.name for stage in record.stages] == [StageName.GIT_CLONE]


class LostWhen(UnreliableProvider):
    def __init__(self, inner, moment: str) -> None:
        super().__init__(inner)
        self.moment = moment

    @contextmanager
    def open(self, *args, **more):
        with super().open(*args, **more) as sandbox:
            yield sandbox
        self._lose("a sandbox is removed")

    def find(self, key):
        self._lose("a preparation is looked for")
        return self._inner.find(key)

    def discard(self, snapshot):
        self._lose("a snapshot is discarded")
        self._inner.discard(snapshot)

    def _lose(self, moment: str) -> None:
        if moment == self.moment:
            self.moment = ""
            raise SandboxError("the engine does not answer any more")


def test_lost_engine_while_storing_fails_no_attempt(
    task, provider, uncontrolled, place, tmp_path, caplog
):
    shop = uncontrolled(LostWhen(provider, "a sandbox is removed"), folder=tmp_path)
    assert run_attempt(task, oracle(task), shop, place(1)).resolved
    assert "left behind" in caplog.text
    assert cached(run_attempt(task, oracle(task), shop, place(2))) == [
        *PREPARED,
        StageName.BASELINE_RUN,
    ]


def test_lost_engine_while_loading_becomes_a_record(task, provider, uncontrolled, place, tmp_path):
    lost = LostWhen(provider, "a preparation is looked for")
    record = run_attempt(task, oracle(task), uncontrolled(lost, folder=tmp_path), place())
    assert record.resolved
    assert lost.moment == ""
    assert cached(record) == []


def test_lost_engine_at_the_end_fails_no_attempt(
    task, provider, uncontrolled, place, tmp_path, caplog
):
    lost = LostWhen(provider, "a snapshot is discarded")
    shop = uncontrolled(lost, folder=tmp_path, use_cache=False)
    assert run_attempt(task, oracle(task), shop, place()).resolved
    assert "left behind" in caplog.text


def test_unwritable_cache_fails_no_attempt(task, uncontrolled, place, tmp_path, caplog):
    shop = uncontrolled(folder=tmp_path)
    assert run_attempt(task, oracle(task), shop, place(1)).resolved
    (kept,) = shop.cache.folder.glob("baseline-*.json")
    kept.unlink()
    kept.mkdir()
    assert run_attempt(task, oracle(task), shop, place(2)).resolved
    assert "cannot write to the cache" in caplog.text


def test_missing_image_becomes_a_record(task, workshop, place):
    environment = TaskEnvironment(image="no/such:image")
    odd = task.replace(environment=environment)
    record = run_attempt(odd, NoopAgent(), workshop(), place())
    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.stages[0].evidence.exception is not None
    with pytest.raises(UnavailableError):
        resolve_image(odd, workshop().provider)


def test_missing_repository_becomes_a_record(workshop, place, tmp_path):
    task = small_task(tmp_path / "small")
    shutil.rmtree(tmp_path / "small")
    (tmp_path / "small").write_text("in its place")
    record = run_attempt(task, NoopAgent(), workshop(), place())
    assert not record.resolved
    assert [stage.name for stage in record.stages] == [StageName.GIT_CLONE]


def test_cancelled_run_records_interrupted_attempts(task, workshop, place):
    shop = workshop()
    shop.cancel.set()
    assert was_interrupted(run_attempt(task, NoopAgent(), shop, place()))


def test_cancel_ends_the_wait_for_a_preparation(task, workshop, place, tmp_path):
    shop = workshop(folder=tmp_path)
    key = shop.cache.key(task, resolve_image(task, shop.provider))
    with FileLock(shop.cache.lock_path(key)), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run_attempt, task, NoopAgent(), shop, place())
        assert not waiting.done()
        shop.cancel.set()
        assert was_interrupted(waiting.result(HANG_SECONDS))


def test_record_has_the_end_of_the_output(task, workshop, place):
    def work(given):
        result = sh(given.sandbox, "yes 0123456789 | head -c 20000; echo the end; exit 3")
        return AgentOutcome(ending=AgentEnding.TOOL_ERROR, command=result)

    here = place()
    record = run_attempt(task, ScriptedAgent(work), workshop(), here)
    command = record.stages[4].evidence.command
    assert command is not None
    assert len(command.stdout) == 4096
    assert command.stdout.endswith("the end\n")
    assert (here.folder / "stages" / "agent_run.log").stat().st_size > 20_000


def test_any_exception_message_is_stored(task, workshop, place):
    def work(_given):
        raise ValueError("caf\udce9 " + "x" * 10_000)

    record = run_attempt(task, ScriptedAgent(work), workshop(), place())
    fact = record.stages[4].evidence.exception
    assert fact is not None
    assert fact.type_name == "ValueError"
    assert fact.message.startswith("caf? xxx")
    assert len(fact.message) == 4096
    assert type(record).model_validate_json(record.model_dump_json()) == record


def test_exception_without_text_ends_only_its_attempt(task, workshop, place):
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("speechless")

    def work(_given):
        raise UnspeakableError

    record = run_attempt(task, ScriptedAgent(work), workshop(), place())
    assert (record.failure_reason, record.fault) == (FailureReason.UNKNOWN, Fault.AGENT)


def test_record_has_the_queue_wait(task, workshop, place):
    record = run_attempt(task, NoopAgent(), workshop(), place(queued_at=0.001))
    assert record.timing.queue_wait_s > 0
    assert run_attempt(task, NoopAgent(), workshop(), place(2)).timing.queue_wait_s == 0


def test_threads_end_with_their_attempt(task, workshop, place):
    others = set(threading.enumerate())  # of agents that other tests gave up
    run_attempt(task, NoopAgent(), workshop(), place())
    names = [thread.name for thread in threading.enumerate() if thread not in others]
    assert not [name for name in names if name.startswith("agent-")]


def test_events_are_on_disk_as_they_happen(task, workshop, place):
    at = place()
    seen = []

    def look(_given: Given) -> AgentOutcome:
        seen.extend(read_events(at.folder))
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    run_attempt(task, ScriptedAgent(look), workshop(), at)

    assert seen[0].event is EventKind.REGISTERED
    assert (seen[-1].event, seen[-1].stage) == (EventKind.STAGE_STARTED, StageName.AGENT_RUN)
    *_, last_stage, judged = read_events(at.folder)
    assert (last_stage.event, last_stage.stage) == (EventKind.STAGE_ENDED, StageName.FINAL_TEST)
    assert judged.failure_reason is FailureReason.TESTS_FAILED


def test_attempt_past_its_limit_is_the_agents_timeout(task, workshop, place):
    run_attempt(task, NoopAgent(), workshop(), place())  # so that there is nothing left to prepare

    begun, places = [], map(place, count(2))

    def idle(given: Given) -> AgentOutcome:
        begun.append(True)
        sh(given.sandbox, "sleep 1000")
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    def run(seconds: float):
        shop = workshop(attempt_timeout=timedelta(seconds=seconds))
        return run_attempt(task, ScriptedAgent(idle), shop, next(places)), seconds

    record, limit = with_growing_limit(run, lambda _made: begun)

    assert (record.failure_reason, record.fault) == (FailureReason.TIMEOUT, Fault.AGENT)
    assert record.detail == f"the whole attempt was still running after {limit:.0f} s"
    assert record.timing.agent_s > 0
    assert not was_interrupted(record)


def test_attempt_late_before_the_agent_is_an_infrastructure_failure(task, workshop, place):
    shop = workshop(use_cache=False, attempt_timeout=timedelta(microseconds=1))
    record = run_attempt(task, NoopAgent(), shop, place())
    assert (record.failure_reason, record.fault) == (FailureReason.TIMEOUT, Fault.INFRASTRUCTURE)
