"""gVisor judges as Docker's own runtime does: a few of each corpus in the gate, all in the soak.

python -m pytest tests/corpora/test_in_gvisor.py --tier soak -k unusual --durations 5
"""

from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.docker.provider import DockerProvider
from tests.corpora.adaptive import corpus as adaptive
from tests.corpora.adaptive.agent import AdaptiveAgent
from tests.corpora.adaptive.test_adaptive import try_adaptive
from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.corpus import cheats_in_docker, honest_in_docker
from tests.corpora.cheats.honest import Honest
from tests.corpora.cheats.trials import try_cheat, try_honest
from tests.corpora.unusual import corpus as unusual
from tests.e2e.bench import Bench
from tests.sandbox.private_engines import RUNSC, give_base_image, gvisor_engine
from tests.sandbox.second_engine import SecondEngine
from tests.tiers import gate_and_soak

__all__ = ["gvisor_engine"]
pytestmark = pytest.mark.docker

_PATIENCE = 5
"""The platform ptrace runs programs that start other programs several times slower."""


@pytest.fixture(scope="module")
def gvisor_bench(gvisor_engine: SecondEngine, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    engine = gvisor_engine.await_engine()
    give_base_image(engine)
    folder = tmp_path_factory.mktemp("gvisor")
    options = RunOptions(
        runs_dir=folder / "runs",
        cache_dir=folder / "cache",
        retries=0,
        runtime=RUNSC,
        timeout_scale=_PATIENCE,
    )
    return Bench(provider=DockerProvider(engine), engine=engine, options=options)


@pytest.mark.parametrize("agent", gate_and_soak(adaptive.in_docker()[:2], adaptive.AGENTS))
def test_adaptive_agent_is_not_resolved(
    gvisor_bench: Bench, tmp_path: Path, agent: AdaptiveAgent
) -> None:
    try_adaptive(gvisor_bench, agent, tmp_path)


@pytest.mark.parametrize("fix", gate_and_soak(unusual.in_docker()[:2], unusual.FIXES))
def test_unusual_fix_is_resolved(gvisor_bench: Bench, tmp_path: Path, fix: Honest) -> None:
    record = try_honest(gvisor_bench, fix, tmp_path)
    assert record.environment.runtime == RUNSC


@pytest.mark.parametrize("cheat", gate_and_soak([], cheats_in_docker()))
def test_cheat_is_not_resolved(gvisor_bench: Bench, tmp_path: Path, cheat: Cheat) -> None:
    try_cheat(gvisor_bench, cheat, tmp_path)


@pytest.mark.parametrize("honest", gate_and_soak([], honest_in_docker()))
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    gvisor_bench: Bench, tmp_path: Path, honest: Honest
) -> None:
    try_honest(gvisor_bench, honest, tmp_path)
