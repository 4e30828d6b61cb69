"""What tests of stages share: a real back end, a prepared task, a desk for an attempt's files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from agentbench.core.host import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import Desk, StagedAttempt, local_provider, prepare, small_task, staged
from tests.runs.conftest import options, task, workshop

__all__ = ["options", "task", "workshop"]


@pytest.fixture(scope="session")
def provider() -> SandboxProvider:
    return local_provider()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "attempt"
    folder.mkdir()
    return Desk(folder)


@pytest.fixture(scope="session")
def ready(
    provider: SandboxProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StagedAttempt]:
    folder = tmp_path_factory.mktemp("ready")
    task = small_task(folder / "small", agent="timeout_s = 60")
    with staged(task, provider, Desk(folder)) as context:
        prepare(context)
        yield context


@pytest.fixture
def attempt_by(
    ready: StagedAttempt, desk: Desk
) -> Callable[..., AbstractContextManager[StagedAttempt]]:
    def opened(solve=None, **more) -> AbstractContextManager[StagedAttempt]:
        agent = ScriptedAgent(solve) if solve is not None else None
        task = more.pop("task", ready.task)
        return staged(task, ready.provider, desk, agent=agent, prepared=ready.prepared, **more)

    return opened


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def back_end(request, provider) -> SandboxProvider:
    if request.param == "local":
        return provider
    return select_back_end("docker", cache_dir=default_cache_dir()).provider
