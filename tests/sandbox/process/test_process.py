"""Process keeps what it can, which is little, and says so."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.sandbox.interface import ImageId, Promise, Sandbox, SandboxProvider
from agentbench.sandbox.process.provider import FOLDER_PREFIX, ProcessProvider
from tests.environments import with_shared_environments
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.conformance_endings import DAEMONS, HELD, prepare, survivors


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_shared_environments(tmp_path_factory.mktemp("process"), tmp_path_factory)


@pytest.fixture(scope="session")
def provider(cache_dir: Path) -> ProcessProvider:
    return ProcessProvider.connect(cache_dir=cache_dir)


@pytest.fixture(scope="session")
def image(provider: ProcessProvider) -> ImageId:
    return provider.resolve_image(None)


@pytest.fixture(scope="session")
def gaps() -> frozenset[Promise]:
    return frozenset(Promise)


@pytest.fixture(scope="session")
def reconnect(cache_dir: Path) -> Callable[[], SandboxProvider]:
    return lambda: ProcessProvider.connect(cache_dir=cache_dir)


def is_mine(root: Path) -> bool:
    """Whether this process made it; another worker of the test run makes its own."""
    try:
        return (root / "owner").read_text().strip() == str(os.getpid())
    except FileNotFoundError:
        return False


@pytest.fixture(scope="session")
def leftovers(provider: ProcessProvider) -> Callable[[], frozenset[str]]:
    def look() -> frozenset[str]:
        return frozenset(map(str, filter(is_mine, provider.live.glob(f"{FOLDER_PREFIX}*"))))

    return look


@pytest.fixture(scope="session")
def reachable_host() -> str:
    return "127.0.0.1"


class TestConformance(SandboxConformance):
    def test_daemons_die_with_their_command_as_far_as_can_be_seen(self, fresh: Sandbox) -> None:
        prepare(fresh)
        assert sh(fresh, f"{DAEMONS}\npython until.py {' '.join(HELD)}").ok
        assert survivors(fresh) == ""

    def test_an_environment_that_moves_finds_itself_again(
        self, provider: ProcessProvider, image: ImageId
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            result = sh(sandbox, 'pip --version && head -1 "$VIRTUAL_ENV/bin/pip"')
        assert result.stdout.count(str(sandbox.workspace.parent / "venv")) == 2
