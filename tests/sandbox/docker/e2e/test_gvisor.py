"""Containers with a kernel of their own: gVisor's runtime runsc, in an engine of the tests' own.

The gate makes the attempts; the soak runs the whole conformance suite, too.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench import RunOptions, run_tasks
from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import (
    ImageId,
    Limits,
    Promise,
    SandboxProvider,
    SandboxUse,
)
from agentbench.sandbox.registry import UNCERTAIN, check_runtime
from tests.e2e.conftest import discard_snapshots
from tests.e2e.engine_attempts import EngineAttempts
from tests.sandbox.adapted_provider import AdaptedProvider
from tests.sandbox.conformance import IncompleteConformance
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import image_of_provider, leftovers
from tests.sandbox.e2e.test_side_channels import CHANNELS, Pair, arrives, is_closed, pair
from tests.sandbox.private_engines import RUNSC, give_base_image, gvisor_engine
from tests.sandbox.second_engine import SecondEngine

__all__ = ["gvisor_engine", "image_of_provider", "leftovers", "pair"]
pytestmark = pytest.mark.docker

SHIPPED = Path(__file__).parents[4] / "tasks"
_STATX = "old versions refuse the call statx as `ls` and `stat` make it"

CANNOT = {
    "test_links_pipes_and_sockets_are_not_followed": "no pipe gets to the disk",
    "test_an_installed_environment_and_the_workspace_come_back": _STATX,
    "test_no_descriptor_is_inherited": _STATX,
    "test_no_privileges_can_be_gained": "its /proc does not say so",
    "test_no_capability_comes_with_a_new_user_namespace": "they are those of gVisor's own kernel",
}


class _InGvisor(AdaptedProvider):
    """Opens every sandbox with the runtime."""

    @property
    def promises(self) -> frozenset[Promise]:
        return frozenset(Promise) - UNCERTAIN

    def adapted(self, limits: Limits, use: SandboxUse) -> tuple[Limits, SandboxUse]:
        return replace(limits, runtime=RUNSC), use


@pytest.fixture(scope="module")
def engine(gvisor_engine: SecondEngine) -> Engine:
    engine = gvisor_engine.await_engine()
    give_base_image(engine)
    return engine


@pytest.fixture(scope="module")
def provider(engine: Engine) -> DockerProvider:
    return _InGvisor(engine)


@pytest.fixture(scope="module")
def gaps() -> frozenset[Promise]:
    return UNCERTAIN


@pytest.fixture(scope="module")
def reconnect(gvisor_engine: SecondEngine) -> Callable[[], SandboxProvider]:
    return lambda: _InGvisor(Engine.connect(gvisor_engine.base_url))


@pytest.fixture(scope="module")
def reachable_host() -> None:
    return None


@pytest.mark.soak
class TestGvisorConformance(IncompleteConformance, cannot=CANNOT):
    """All that is asked of any sandbox, except what gVisor cannot do."""


def test_a_sandbox_has_a_kernel_of_its_own(provider: DockerProvider, image: ImageId) -> None:
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        assert "gVisor" in sh(sandbox, "dmesg").stdout


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_no_signal_passes_gvisor(pair: Pair, name: str) -> None:
    assert is_closed(CHANNELS[name].row, "gvisor")
    assert not arrives(pair, name)


def test_unknown_runtime_is_refused_with_the_known_ones(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match=r"no runtime 'kata'; it has: .*runc.*runsc"):
        check_runtime(DockerProvider(engine), "kata")


def test_shipped_tasks_are_judged_with_the_runtime_of_the_run(
    engine: Engine, tmp_path: Path
) -> None:
    provider = DockerProvider(engine)
    options = RunOptions(
        runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache", retries=0, runtime=RUNSC
    )
    folders = [SHIPPED / name for name in ("lru-expiry", "interval-merge-touching")]
    oracle = list(run_tasks(folders, "oracle", sandbox=provider, options=options))
    noop = list(run_tasks(folders, "noop", sandbox=provider, options=options))
    discard_snapshots(provider, tmp_path / "cache")
    assert [record.resolved for record in (*oracle, *noop)] == [True, True, False, False]
    assert {record.environment.runtime for record in (*oracle, *noop)} == {RUNSC}
    assert Promise.PIDS_LIMIT.value in oracle[0].environment.lacks


class TestGvisorAttempts(EngineAttempts):
    """Whole attempts in gVisor."""
