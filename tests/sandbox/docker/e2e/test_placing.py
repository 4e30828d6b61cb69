"""An engine that sees nothing of ours: no code, no cache, no temporary folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, ReadOnlyMount, SandboxProvider
from tests.e2e.engine_attempts import EngineAttempts
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import gaps, image_of_provider, leftovers
from tests.sandbox.private_engines import give_base_image, hidden_engine
from tests.sandbox.second_engine import SecondEngine

__all__ = ["gaps", "hidden_engine", "image_of_provider", "leftovers"]

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def engine(hidden_engine: SecondEngine) -> Engine:
    engine = hidden_engine.await_engine()
    give_base_image(engine)
    return engine


@pytest.fixture(scope="module")
def provider(engine: Engine) -> DockerProvider:
    return DockerProvider(engine)


@pytest.fixture(scope="module")
def reconnect(hidden_engine: SecondEngine) -> Callable[[], SandboxProvider]:
    return lambda: DockerProvider.connect(base_url=hidden_engine.base_url)


@pytest.fixture(scope="module")
def reachable_host(hidden_engine: SecondEngine) -> str:
    return hidden_engine.network.host


@pytest.mark.soak
class TestHiddenEngineConformance(SandboxConformance):
    """All that is asked of any sandbox."""


def test_live_mount_is_omitted_if_the_engine_sees_no_files(
    hidden_engine: SecondEngine, image: ImageId, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    tmp_path.chmod(0o755)  # else the sandbox could not read it in place anyway
    provider = DockerProvider.connect(base_url=hidden_engine.base_url)
    mounts = [
        ReadOnlyMount(name="live", source=tmp_path, live=True),
        ReadOnlyMount(name="copy", source=tmp_path),
    ]
    for files in ("shared", "copied in"):  # as is believed before and known after
        assert provider.describe()["files"] == files
        with provider.open(image, limits=LIMITS, network=False, mounts=mounts) as sandbox:
            assert sh(sandbox, f"cat {sandbox.mounted('copy')}/file").stdout == "text"
            with pytest.raises(KeyError):
                sandbox.mounted("live")


class TestHiddenEngineAttempts(EngineAttempts):
    """Whole attempts where nothing of ours is seen: all goes by the engine's connection."""
