import json
from dataclasses import replace
from threading import Event

import pytest

from agentbench import __version__
from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.settings import RunSettings
from agentbench.errors import UnavailableError, UsageError
from agentbench.extensions.ray import remote_attempt
from agentbench.extensions.ray.remote_attempt import (
    FolderArchive,
    RemoteAttempt,
    WorkerConfig,
    pack_task,
    run_on_node,
    unpack,
    unpack_task,
)
from agentbench.runs.store.summaries import was_interrupted
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.task import RepoSource
from agentbench.taxonomy import FailureReason
from tests.e2e.models.client import command
from tests.e2e.small_task import FIX
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.scripted_model import Say, ScriptedModel, Tokens
from tests.runs.records import RUN


@pytest.fixture
def errand(task, provider):
    worker = WorkerConfig(
        run_id=RUN,
        agentbench_version=__version__,
        agent="oracle",
        sandbox=provider.name,
        settings=RunSettings(),
    )
    return RemoteAttempt(worker=worker, task=task, files=pack_task(task), attempt=2, retry_of=1)


def test_a_node_makes_a_try_and_sends_its_files(errand, tmp_path):
    brought = run_on_node(errand)
    assert brought.record.resolved
    assert (brought.record.attempt, brought.record.retry_of) == (2, 1)
    assert brought.files.left_out == ()
    unpack(brought.files.content, tmp_path / "attempt")
    assert (tmp_path / "attempt" / "final.json").is_file()


def test_another_version_is_refused(errand):
    other = replace(errand, worker=replace(errand.worker, agentbench_version="0.0.0"))
    with pytest.raises(UnavailableError, match="install the same on every node"):
        run_on_node(other)


@pytest.fixture
def with_model(errand):
    """The errand of a command that asks a model; on which server is told."""

    def made(base_url, **more):
        settings = RunSettings(
            agent_command=command("openai-chat", 3), model="openai/scripted", base_url=base_url
        )
        worker = replace(errand.worker, agent="command", settings=settings, **more)
        return replace(errand, worker=worker)

    return made


def test_a_node_s_attempts_ask_the_model_with_the_node_s_own_key(with_model, monkeypatch):
    rates = {"source": "here", "date": "2026-11-01"}
    rates["models"] = {"scripted": {"input": 1, "output": 1}}
    prices = json.dumps({"lists": [rates]}).encode()
    with ScriptedModel(
        [Say(f"run: {FIX}", Tokens(100, 20)), Say("done", Tokens(150, 5))]
    ) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        brought = run_on_node(with_model(server.base_url, prices=prices))
    assert brought.record.resolved, brought.record.detail
    assert brought.record.model == "scripted"
    assert brought.record.usage.requests == 2
    assert brought.record.usage.cost_usd == pytest.approx(275e-6)


def test_a_node_without_a_key_says_whose_it_is_to_be(with_model, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UnavailableError, match="the environment of its `ray start`"):
        run_on_node(with_model(None))


def test_an_interrupt_cuts_it_off(errand):
    import _thread

    is_over = Event()

    def work(_given):
        _thread.interrupt_main()
        is_over.wait()
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    agent = ScriptedAgent(work)
    try:
        brought = run_on_node(replace(errand, worker=replace(errand.worker, agent=agent)))
    finally:
        is_over.set()
    assert was_interrupted(brought.record)
    assert brought.record.failure_reason is FailureReason.INTERRUPTED


def test_a_node_has_the_same_files_in_a_place_of_its_own(task, tmp_path):
    there = unpack_task(task, pack_task(task), tmp_path)
    assert there.folder.is_relative_to(tmp_path)
    assert there.source.files is not None
    assert there.source.files.is_relative_to(tmp_path)
    assert tree_digest(there.folder) == task.digest
    assert tree_digest(there.source.files) == tree_digest(task.source.files)
    assert there.problem == task.problem


def test_they_are_written_once(task, tmp_path):
    content = pack_task(task)
    first = unpack_task(task, content, tmp_path)
    (first.folder / "marked").touch()
    again = unpack_task(task, content, tmp_path)
    assert (again.folder / "marked").exists()
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == [task.digest]


def test_a_bundle_a_dockerfile_and_a_compose_file_go_with_it(task, tmp_path):
    folder = tmp_path / "task"
    folder.mkdir()
    for name in ("Dockerfile", "compose.yaml", "repo.bundle"):
        (folder / name).write_text(name)
    source = RepoSource(url=str(folder / "repo.bundle"), commit="c" * 40)
    files = {"dockerfile": folder / "Dockerfile", "compose": folder / "compose.yaml"}
    environment = task.environment.replace(**files)
    changed = {"folder": folder, "source": source, "environment": environment}
    moved = task.replace(**changed)
    there = unpack_task(moved, pack_task(moved), tmp_path / "cache")
    assert there.environment.dockerfile.read_text() == "Dockerfile"
    assert there.environment.compose.read_text() == "compose.yaml"
    assert there.source.url.startswith(str(tmp_path / "cache"))


def test_a_url_is_left_as_it_is(task, tmp_path):
    source = RepoSource(url="https://host.example/repo", commit="c" * 40)
    moved = task.replace(source=source)
    assert unpack_task(moved, pack_task(moved), tmp_path).source == source


def test_a_task_that_is_too_large_says_what_to_do(task, monkeypatch):
    monkeypatch.setattr(
        remote_attempt, "pack", lambda _: FolderArchive(content=b"", left_out=("repo/big",))
    )
    with pytest.raises(UsageError, match="give its repository as a URL"):
        pack_task(task)
