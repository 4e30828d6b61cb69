"""Reasons that lie in what attempts run in: the engine, and the person at the keyboard."""

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.registry import FunctionAgent
from agentbench.attempt.record import rescore
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.images import build_base_image
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.tasks.problem import Problem
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.e2e.bench import PREPARED, Bench
from tests.e2e.conftest import BACK_ENDS
from tests.e2e.leftovers import left_on_machine
from tests.e2e.program import records_of, started_program
from tests.e2e.small_task import SmallTask
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.second_engine import SecondEngine, second_engine

UP_TO_THE_AGENT = (*PREPARED, StageName.BASELINE_RUN, StageName.AGENT_RUN)


@pytest.fixture
def second() -> Iterator[SecondEngine]:
    if os.getuid() != 0 or not all(map(shutil.which, ("docker", "dockerd", "ip"))):
        pytest.skip("a second engine needs root, docker, dockerd and ip")
    # Not tmp_path: its name is longer than that of a socket may be.
    with (
        tempfile.TemporaryDirectory(prefix="ab-", ignore_cleanup_errors=True) as folder,
        second_engine(Path(folder)) as started,
    ):
        yield started
    gc.collect()  # here, and not in the middle of another test


@pytest.mark.docker
# The SDK leaves the socket open with which it found that nobody answers.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.usefixtures("docker")  # the base image comes from there
def test_an_engine_that_dies_is_a_lost_sandbox(second: SecondEngine, tmp_path: Path) -> None:
    engine = second.await_engine()
    _bring_base_image(second)
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache", retries=0)
    bench = Bench(provider=DockerProvider(engine), options=options)
    agent = FunctionAgent("meets-the-end", _while_it_works(lambda: second.end(signal.SIGKILL)))

    record = bench.attempt(SmallTask().write(tmp_path / "small"), agent, walked=UP_TO_THE_AGENT)

    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.INFRASTRUCTURE
    assert record.detail
    assert "SandboxError" not in record.detail


@pytest.mark.parametrize("sandbox", BACK_ENDS)
def test_ctrl_c_is_an_interrupt_of_ours(
    request: pytest.FixtureRequest, sandbox: str, environ: dict[str, str], tmp_path: Path
) -> None:
    request.getfixturevalue(sandbox)  # or a skip
    task = SmallTask().write(tmp_path / "small")
    run = tmp_path / "runs" / "cut"
    line = ("--agent", "command", "--agent-command", "echo at work; sleep 600")
    options = ("--sandbox", sandbox, "--runs-dir", run.parent, "--run-id", run.name)
    with started_program("run", task, *line, *options, env=environ, cwd=tmp_path) as program:
        log = run / "attempts" / "small" / "1" / "stages" / "agent_run.log"
        wait_until(lambda: log.is_file() and b"at work" in log.read_bytes())
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=HANG_SECONDS)

    assert program.returncode == 130
    assert f"continue with: agentbench resume {run}" in said
    [record] = records_of(run)
    assert record.failure_reason is FailureReason.INTERRUPTED
    assert record.fault is Fault.INFRASTRUCTURE
    assert record.detail == "the run was cancelled"
    assert tuple(stage.name for stage in record.stages) == UP_TO_THE_AGENT
    assert rescore(record) == record
    assert left_on_machine(program.pid, Path(environ["AGENTBENCH_CACHE"])) == []


def _while_it_works(
    event: Callable[[], None],
) -> Callable[[Problem, Sandbox, Budget, ModelEndpoint | None], AgentOutcome]:
    """An agent whose one command meets an event."""

    def solve(
        _problem: Problem, sandbox: Sandbox, budget: Budget, _model: ModelEndpoint | None
    ) -> AgentOutcome:
        sandbox.run(
            Command(
                argv=("sh", "-c", "echo up; sleep 1000"),
                timeout=budget.remaining(),
                sink=lambda _stream, _data: event(),
            )
        )
        raise AssertionError("the command went on without its engine")

    return solve


def _bring_base_image(second: SecondEngine) -> None:
    """Copy the base image from the first engine."""
    name = build_base_image(Engine.connect()).name
    with subprocess.Popen(["docker", "save", name], stdout=subprocess.PIPE) as saving:
        target = ["docker", f"--host={second.base_url}", "load", "--quiet"]
        subprocess.run(target, stdin=saving.stdout, check=True, timeout=240)
    assert saving.returncode == 0
