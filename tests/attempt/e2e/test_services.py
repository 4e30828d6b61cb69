"""Attempts at a task with a database beside the program under test."""

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.attempt.attempt import run_attempt
from agentbench.attempt.resources import AttemptSlot
from agentbench.core.host import default_cache_dir
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.e2e.small_task import FIX, SmallTask
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import small_task
from tests.runs.records import RUN
from tests.sandbox.compose_services import ASK, STORE, ask, compose, services_in
from tests.sandbox.conformance_base import sh
from tests.sandbox.docker_fixtures import engine

__all__ = ["compose", "engine"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]

HIDDEN = """\
import subprocess
import sys

import basket


def ask(*words):
    return subprocess.check_output([sys.executable, "ask.py", "db", *words], text=True).strip()


def test_every_price_counts():
    assert ask("GET", "apple") == "none", "the database is fresh"
    for name, price in (("apple", "1"), ("pear", "2"), ("plum", "3")):
        ask("SET", name, price)
    assert basket.total([int(ask("GET", name)) for name in ("apple", "pear", "plum")]) == 6


def test_one_price_is_the_total():
    assert basket.total([5]) == 5
"""
CLOSING = HIDDEN.replace("assert basket.total([5]) == 5", 'ask("STOP", "4")\n    raise ValueError')


@pytest.fixture
def run(tmp_path, workshop):
    def run(agent=None, *, store=STORE, hidden=HIDDEN, back_end="docker"):
        services_in(tmp_path / "task" / "env", store)
        files = {**SmallTask().files, "ask.py": ASK}
        task = small_task(
            tmp_path / "task",
            files=files,
            hidden=hidden,
            environment='compose = "env/docker-compose.yaml"\nenv = { PORT = "7001" }',
            setup='network = false\ncommands = ["python ask.py db SET apple 9"]',
        )
        provider = select_back_end(back_end, cache_dir=default_cache_dir()).provider
        resources = workshop(
            provider, folder=tmp_path, use_cache=False, integrity_controls=ControlLevel.OFF
        )
        folder = tmp_path / "attempt"
        folder.mkdir()
        agent = agent or OracleAgent({task.id: task.answer_key.solution_patch})
        try:
            slot = AttemptSlot(folder=folder, run_id=RUN, attempt=1)
            return run_attempt(task, agent, resources, slot), folder
        finally:
            resources.background.finish()

    return run


def test_stages_have_fresh_services_and_store_their_logs(run):
    record, folder = run()
    assert record.resolved, record.detail
    logs = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.glob("services/*/*.log")
    }
    stages = ("setup", "baseline_run", "agent_run", "final_test")
    assert logs.keys() == {f"services/{stage}/db.log" for stage in stages}
    assert logs["services/setup/db.log"] == "SET apple 9\n"
    assert logs["services/final_test/db.log"].startswith("GET apple\nSET apple 1\n")


def test_service_ended_by_the_agent_is_a_warning(run):
    def solve(given):
        ask(given.sandbox, "STOP", "5")
        sh(given.sandbox, FIX)
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    record, folder = run(ScriptedAgent(solve))
    assert record.resolved, record.detail
    evidence = {stage.name: stage.evidence for stage in record.stages}
    assert evidence[StageName.AGENT_RUN].warnings == ("service db ended with exit code 5",)
    assert evidence[StageName.FINAL_TEST].warnings == ()
    assert "STOP 5" in (folder / "services" / "agent_run" / "db.log").read_text()


def test_service_that_fails_before_the_agent_works_is_the_tasks_fault(run):
    record, folder = run(NoopAgent(), hidden=CLOSING)
    assert (record.failure_reason, record.fault) == (FailureReason.SANDBOX_ERROR, Fault.TASK)
    assert record.stages[-1].name is StageName.BASELINE_RUN
    assert "service db ended with exit code 4" in record.detail
    assert (folder / "services" / "baseline_run" / "db.log").is_file()


def test_unstarted_service_is_the_tasks_fault(run):
    store = STORE.replace('"/srv/server.py"', '"/srv/none.py"')
    record, folder = run(NoopAgent(), store=store)
    assert (record.failure_reason, record.fault) == (FailureReason.SANDBOX_ERROR, Fault.TASK)
    assert record.stages[-1].name is StageName.GIT_CLONE
    assert "service db ended with exit code 2 (" in record.detail
    assert "No such file" in (folder / "services" / "setup" / "db.log").read_text()


@pytest.mark.parametrize("back_end", ["bubblewrap", "process"])
def test_back_end_without_containers_refuses_services(run, back_end):
    record, _folder = run(NoopAgent(), back_end=back_end)
    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert f"{back_end} runs no services: use a container engine" in record.detail
