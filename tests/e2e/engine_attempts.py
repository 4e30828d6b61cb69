"""Whole attempts on an engine: what the reference, nothing, a command and a model's agent come to.

A test module subclasses `EngineAttempts` and gives the fixtures `provider` and `engine`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.bench import Bench
from tests.e2e.conftest import discard_snapshots
from tests.e2e.models.client import command
from tests.e2e.small_task import FIX, SmallTask
from tests.fakes.scripted_model import Say, ScriptedModel, Tokens

_KILL_THE_WAY = (
    "for p in /proc/[0-9]*; do case $(tr '\\0' ' ' < $p/cmdline 2>/dev/null) in "
    "*agentbench-tunnel.py*sock*|*agentbench-relay.py*sock*) "
    '[ "${p#/proc/}" = "$$" ] || kill -9 "${p#/proc/}";; esac; done'
)


class EngineAttempts:
    """One task, four agents, and one that is up to no good."""

    @pytest.fixture(scope="class")
    @classmethod
    def attempts(
        cls, provider: DockerProvider, engine: Engine, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Bench]:
        folder = tmp_path_factory.mktemp("engine")
        options = RunOptions(runs_dir=folder / "runs", cache_dir=folder / "cache", retries=0)
        yield Bench(provider=provider, engine=engine, options=options)
        discard_snapshots(provider, folder / "cache")

    def test_the_reference_resolves_the_task(self, attempts: Bench, tmp_path: Path) -> None:
        record = attempts.attempt(SmallTask().write(tmp_path / "task"), "oracle")
        assert record.resolved, record.detail

    def test_doing_nothing_fails_its_tests(self, attempts: Bench, tmp_path: Path) -> None:
        record = attempts.attempt(SmallTask().write(tmp_path / "task"), "noop")
        assert record.failure_reason is FailureReason.TESTS_FAILED, record.detail

    def test_a_command_resolves_the_task(self, attempts: Bench, tmp_path: Path) -> None:
        record = attempts.command(SmallTask().write(tmp_path / "task"), FIX)
        assert record.resolved, record.detail

    def test_an_agent_asks_its_model_and_resolves_the_task(
        self, attempts: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = [Say(f"run: {FIX}", Tokens(100, 20)), Say("done", Tokens(150, 5))]
        record = self._with_model(attempts, tmp_path, monkeypatch, script, command("openai-chat"))
        assert record.resolved, record.detail
        assert record.usage is not None
        assert (record.usage.requests, record.usage.input_tokens) == (2, 250)

    def test_an_agent_that_ends_its_way_to_the_model_gets_no_free_retry(
        self, attempts: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = [Say("never asked", Tokens(1, 1))]
        line = f"{_KILL_THE_WAY}; {command('openai-chat', 1)}"
        record = self._with_model(attempts, tmp_path, monkeypatch, script, line)
        assert record.failure_reason is not None
        assert record.fault is Fault.AGENT, record.detail
        assert record.usage is None or record.usage.requests == 0

    def _with_model(self, attempts, tmp_path, monkeypatch, script, line):
        with ScriptedModel(script) as server:
            monkeypatch.setenv("OPENAI_API_KEY", server.key)
            options = attempts.options.replace(
                model="openai/scripted", base_url=server.base_url, probe=False
            )
            task = SmallTask().write(tmp_path / "task")
            return run_attempt(task, CommandAgent(line), sandbox=attempts.provider, options=options)
