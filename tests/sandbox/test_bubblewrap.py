"""Bubblewrap keeps what every sandbox has to, and some more."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap import BubblewrapProvider
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider
from tests.sandbox.conformance import SandboxConformance


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bubblewrap")


@pytest.fixture(scope="session")
def provider(cache_dir: Path) -> BubblewrapProvider:
    try:
        return BubblewrapProvider.connect(cache_dir=cache_dir)
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def image(provider: BubblewrapProvider) -> ImageId:
    return provider.resolve_image(None)


@pytest.fixture(scope="session")
def gaps(provider: BubblewrapProvider) -> frozenset[Promise]:
    if provider.hierarchy is not None:
        return frozenset()
    return frozenset({Promise.MEMORY_LIMIT, Promise.TELLS_OOM, Promise.CPU_LIMIT})


@pytest.fixture(scope="session")
def reconnect(cache_dir: Path) -> Callable[[], SandboxProvider]:
    return lambda: BubblewrapProvider.connect(cache_dir=cache_dir)


@pytest.fixture(scope="session")
def leftovers(provider: BubblewrapProvider) -> Callable[[], frozenset[str]]:
    def look() -> frozenset[str]:
        groups = (
            set[Path]() if provider.hierarchy is None else set(provider.hierarchy.parents.values())
        )
        found = [path for group in groups for path in group.glob(f"agentbench-{os.getpid()}-*")]
        return frozenset(map(str, [*found, *(provider.cache / "live").iterdir()]))

    return look


@pytest.fixture(scope="session")
def reachable_host() -> str:
    return "127.0.0.1"


class TestConformance(SandboxConformance):
    pass
