"""A task's own script as its judge, from its folder to a record."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.attempt.attempt import run_attempt
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.record import AttemptRecord, rescore
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.task_image import resolve_image
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName
from tests.attempt.script_tasks import write_script_task
from tests.fakes.scripted_agent import Given, ScriptedAgent
from tests.fakes.staging import local_provider
from tests.patience import with_growing_limit
from tests.runs.records import RUN
from tests.sandbox.conformance_base import sh

pytestmark = pytest.mark.full

docker = pytest.mark.docker


class NotRemoved(DockerProvider):
    refuses = False

    @contextmanager
    def open(self, *args, **more):
        with super().open(*args, **more) as sandbox:
            yield sandbox
        if self.refuses:
            raise SandboxError("the engine does not answer any more")


class Bench:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.provider = DockerProvider.connect()
        self.mirrors = Mirrors(folder / "mirrors")
        self.workshop = RunResources(
            provider=self.provider,
            mirrors=self.mirrors,
            cache=PreparationCache(folder / "cache", self.provider),
            cancel=Event(),
            settings=RunSettings(use_cache=False),
        )

    def task(self, name: str, files=None, **more) -> Task:
        folder = write_script_task(self._folder / "tasks" / name, name, files, **more)
        return load_task(folder, mirrors=self.mirrors)

    def attempt(self, task: Task, agent) -> AttemptRecord:
        self.place = self._folder / "attempt"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        place = AttemptSlot(folder=self.place, run_id=RUN, attempt=1)
        return run_attempt(task, agent, self.workshop, place)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.workshop.background.finish()


def oracle(task: Task) -> OracleAgent:
    assert task.scripted_solution is not None
    return OracleAgent({}, {task.id: task.scripted_solution})


def agent(*commands: str) -> ScriptedAgent:
    def work(given: Given) -> AgentOutcome:
        for command in commands:
            sh(given.sandbox, command)
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    return ScriptedAgent(work)


@docker
@pytest.mark.parametrize("name", ["hello", "separate"])
def test_only_the_solution_is_resolved(bench, name):
    task = bench.task(name)
    solved = bench.attempt(task, oracle(task))
    assert solved.resolved, (solved.detail, solved.stages[-1].evidence)
    assert solved.rewards is not None
    assert solved.rewards["reward"] == 1.0
    idle = bench.attempt(task, NoopAgent())
    assert (idle.failure_reason, idle.detail) == ("TESTS_FAILED", "reward 0 is not above 0.999")


@docker
def test_rewards_and_reports_are_stored(bench):
    task = bench.task("several-rewards")
    record = bench.attempt(task, oracle(task))
    assert record.rewards == {"reward": 1.0, "style": 0.25, "length": -3.0}
    (test,) = record.tests
    assert (test.node_id, test.baseline, test.final) == ("says hello", "failed", "passed")
    assert record.counts.fixed == 1
    assert "says hello" in (bench.place / "final-ctrf.json").read_text()
    assert record.controls is not None
    assert record.controls.skipped is not None
    assert record.controls.skipped.startswith("not applicable: a script")
    again = rescore(AttemptRecord.model_validate_json(record.model_dump_json()))
    assert again == record


@docker
def test_baseline_run_is_stored_for_the_same_script(bench):
    bench.workshop = replace(bench.workshop, settings=RunSettings())
    task = bench.task("hello")

    def is_cached() -> bool:
        record = bench.attempt(task, oracle(task))
        assert record.resolved
        (stage,) = [stage for stage in record.stages if stage.name is StageName.BASELINE_RUN]
        return stage.cached

    assert [is_cached(), is_cached()] == [False, True]
    with (task.folder / "tests" / "test.sh").open("a") as script:
        script.write("# changed\n")
    assert not is_cached()


@docker
def test_agent_cannot_write_its_reward(bench):
    task = bench.task("hello")
    cheat = agent(
        "echo 1 > /logs/verifier/reward.txt",
        "printf '#!/bin/bash\\necho 1 > /logs/verifier/reward.txt\\n' > /tests/test.sh",
        "ln -s /logs/verifier/reward.txt hello.txt",
        "ls /solution > seen; ls -A /tests >> seen",
    )
    record = bench.attempt(task, cheat)
    assert (record.resolved, record.detail) == (False, "reward 0 is not above 0.999")
    assert "+test.sh" in (bench.place / "patch.diff").read_text()  # its own: none was there
    assert "solve" not in (bench.place / "patch.diff").read_text()


@docker
@pytest.mark.parametrize("taken", ["/logs", "/logs/verifier", "//logs/verifier/reward.txt"])
def test_agent_cannot_hand_its_reward_to_a_fresh_container(bench, taken):
    script = "#!/bin/bash\n[ -e hello.txt ] || echo 0 > /logs/verifier/reward.txt\n"
    tables = {"dockerfile": "tests/Dockerfile", "takes": ["hello.txt", taken]}
    task = bench.task("separate", {"tests/test.sh": script}, verifier=tables)
    forge = "echo hello > hello.txt; echo 1 > /logs/verifier/reward.txt"
    record = bench.attempt(task, agent(forge))
    assert (record.resolved, record.failure_reason) == (False, "INTERNAL_ERROR")
    assert "left no" in record.detail


@docker
@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("[ -e hello.txt ] && R=nan; echo ${R:-0} > /logs/verifier/reward.txt", "gives nan"),
        ("echo 0 > /logs/verifier/reward.txt; [ -e hello.txt ] && rm -r /logs/verifier", "left no"),
    ],
)
def test_missing_reward_after_the_work_fails(bench, script, detail):
    task = bench.task("several-rewards", {"tests/test.sh": f"#!/bin/bash\n{script}\n"})
    record = bench.attempt(task, agent("echo hello > hello.txt"))
    assert (record.failure_reason, record.fault) == ("INTERNAL_ERROR", "agent")
    assert detail in record.detail


@docker
def test_hanging_script_after_the_work_fails(bench):
    script = "echo 0 > /logs/verifier/reward.txt; [ -e hello.txt ] && echo 1 > "
    script += "/logs/verifier/reward.txt && echo solved && sleep 1000"

    def run(seconds: float) -> AttemptRecord:
        files = {"tests/test.sh": f"#!/bin/bash\n{script}\n"}
        task = bench.task("several-rewards", files, verifier={"timeout_s": seconds})
        return bench.attempt(task, agent("echo hello > hello.txt"))

    def solved(record: AttemptRecord) -> bool:
        final = record.stages[-1].evidence.command  # if the limit was enough for the baseline
        return final is not None and final.stdout == "solved\n"

    record = with_growing_limit(run, solved)
    assert (record.failure_reason, record.fault) == ("TIMEOUT", "agent")
    assert "still running" in record.detail


@docker
def test_reward_in_the_baseline_is_the_tasks_fault(bench):
    changes = {"tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"}
    record = bench.attempt(bench.task("hello", changes), NoopAgent())
    assert (record.failure_reason, record.fault) == ("BASELINE_NOT_FAILING", "task")
    assert [stage.name for stage in record.stages][-1] is StageName.BASELINE_RUN


@docker
def test_unbuildable_dockerfile_is_the_tasks_fault(bench):
    # Its first step is what fails: a step before it would stay behind as a nameless image.
    text = "FROM agentbench/python:3.11\nRUN false\nWORKDIR /app\n"
    record = bench.attempt(bench.task("hello", {"environment/Dockerfile": text}), NoopAgent())
    assert (record.failure_reason, record.fault) == ("SANDBOX_ERROR", "task")
    assert "cannot build" in record.detail


def test_back_end_without_images_names_an_alternative(tmp_path):
    task = load_task(write_script_task(tmp_path / "hello"), mirrors=Mirrors(tmp_path / "mirrors"))
    with pytest.raises(UnavailableError, match=r"use a container engine, --sandbox docker"):
        resolve_image(task, local_provider())


@docker
def test_unremovable_sandbox_costs_no_record(bench, caplog):
    task = bench.task("hello")
    lost = NotRemoved.connect()
    bench.workshop = replace(bench.workshop, provider=lost)

    def work(given: Given) -> AgentOutcome:
        lost.refuses = True
        sh(given.sandbox, "echo hello > /app/hello.txt")
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    record = bench.attempt(task, ScriptedAgent(work))
    assert (record.resolved, record.environment.verifier_environment) == (True, "shared")
    assert "left behind" in caplog.text
