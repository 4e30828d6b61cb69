"""Judged runs that share containers judge as others do: some of each corpus in the gate.

Each case is two attempts at a time, whose judged runs take turns in the same containers.
python -m pytest tests/corpora/test_in_shared_containers.py --tier soak
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentbench import AttemptRecord, run_tasks
from agentbench.agents.interface import Agent
from agentbench.taxonomy import StageName
from tests.corpora.adaptive import corpus as adaptive
from tests.corpora.adaptive.agent import AdaptiveAgent
from tests.corpora.adaptive.test_adaptive import try_adaptive
from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.conftest import cache_dir, docker, docker_bench
from tests.corpora.cheats.corpus import cheats_in_docker, honest_in_docker
from tests.corpora.cheats.honest import Honest
from tests.corpora.cheats.trials import try_cheat, try_honest
from tests.corpora.unusual import corpus as unusual
from tests.e2e.bench import WHOLE, Bench
from tests.sandbox.adapted_provider import CountingProvider
from tests.tiers import gate_and_soak

__all__ = ["cache_dir", "docker", "docker_bench"]
pytestmark = pytest.mark.docker

_AT_A_TIME = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingBench(Bench):
    counting: CountingProvider
    worse: Callable[[AttemptRecord], bool] = field(default=lambda record: record.resolved)

    def attempt(
        self, task: Path, agent: Agent | str, *, walked: tuple[StageName, ...] = WHOLE
    ) -> AttemptRecord:
        before = self.counting.holding
        options = self.options.replace(jobs=_AT_A_TIME)
        made = run_tasks([task], agent, sandbox=self.provider, attempts=_AT_A_TIME, options=options)
        records = sorted(made, key=self.worse)
        assert len(records) == _AT_A_TIME
        assert self.counting.holding > before
        assert tuple(stage.name for stage in records[-1].stages) == walked
        return records[-1]


@pytest.fixture
def sharing_bench(docker_bench: Bench) -> SharingBench:
    assert docker_bench.engine is not None
    counting = CountingProvider(docker_bench.engine)
    return SharingBench(
        provider=counting,
        engine=docker_bench.engine,
        options=docker_bench.options,
        counting=counting,
    )


@pytest.fixture
def honest_bench(sharing_bench: SharingBench) -> SharingBench:
    return SharingBench(
        provider=sharing_bench.provider,
        engine=sharing_bench.engine,
        options=sharing_bench.options,
        counting=sharing_bench.counting,
        worse=lambda record: not record.resolved,
    )


@pytest.mark.parametrize("agent", gate_and_soak(adaptive.in_docker()[::4], adaptive.AGENTS))
def test_adaptive_agent_is_not_resolved(
    sharing_bench: SharingBench, tmp_path: Path, agent: AdaptiveAgent
) -> None:
    try_adaptive(sharing_bench, agent, tmp_path)


@pytest.mark.parametrize("fix", gate_and_soak(unusual.in_docker()[::4], unusual.FIXES))
def test_unusual_fix_is_resolved(honest_bench: SharingBench, tmp_path: Path, fix: Honest) -> None:
    try_honest(honest_bench, fix, tmp_path)


@pytest.mark.parametrize("cheat", gate_and_soak(cheats_in_docker()[:1], cheats_in_docker()))
def test_cheat_is_not_resolved(sharing_bench: SharingBench, tmp_path: Path, cheat: Cheat) -> None:
    try_cheat(sharing_bench, cheat, tmp_path)


@pytest.mark.parametrize("honest", gate_and_soak([], honest_in_docker()))
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    honest_bench: SharingBench, tmp_path: Path, honest: Honest
) -> None:
    try_honest(honest_bench, honest, tmp_path)
