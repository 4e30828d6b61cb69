"""What tests of runs share: a real back end, one small task, and what attempts share."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.host import default_cache_dir
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task
from tests.fakes.staging import local_provider, mirrors, small_task


@pytest.fixture(scope="session")
def provider() -> SandboxProvider:
    """A real back end of this machine."""
    return local_provider()


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """One task for all: its preparation is made once."""
    return small_task(tmp_path_factory.mktemp("task") / "small", agent="timeout_s = 60")


@pytest.fixture
def workshop(provider: SandboxProvider) -> Callable[..., RunResources]:
    """Makes what attempts share; on the cache of the tests, unless told otherwise."""

    def made(
        on: SandboxProvider = provider, folder: Path | None = None, **more: object
    ) -> RunResources:
        settings = {name: more.pop(name) for name in RunSettings.model_fields if name in more}
        given = {"cancel": Event(), **more}
        cache = PreparationCache((folder or default_cache_dir()) / "prepared", on)
        return RunResources(
            provider=on, mirrors=mirrors(), cache=cache, settings=RunSettings(**settings), **given
        )

    return made


@pytest.fixture
def options(provider: SandboxProvider, tmp_path: Path) -> RunOptions:
    """A run of the agent that does nothing, one attempt at a time."""
    return RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path / "runs", jobs=1)
