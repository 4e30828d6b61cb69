"""Agents that know the protocol's source are not resolved, and each of them is live."""

from pathlib import Path

import pytest

from agentbench import AttemptRecord
from agentbench.integrity.records import ControlKind
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from tests.corpora.adaptive.agent import AdaptiveAgent, Family
from tests.corpora.adaptive.corpus import AGENTS, in_docker, in_the_gate
from tests.corpora.adaptive.gaps import LIMITS
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.trials import try_naively
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak


def try_adaptive(bench: Bench, agent: AdaptiveAgent, folder: Path) -> None:
    """Let an agent make its attempts at one task, one after another: none is resolved."""
    task = agent.task.write(folder / "small")
    for number in range(agent.attempts):
        record = bench.command(task, f"set -e; {agent.line}")
        assert record.agent_run is not None
        assert record.agent_run.ending == "submitted", record.agent_run.detail
        assert not record.resolved, f"attempt {number} of {agent.name!r}: {agent.assumes}"
        assert _was_judged(record), record.detail


def _was_judged(record: AttemptRecord) -> bool:
    """Whether its tests ran, so that what the agent wrote had its chance."""
    evidence = record.stages[-1].evidence
    return evidence.command is not None


@pytest.mark.parametrize("agent", gate_and_soak(in_the_gate(), AGENTS))
def test_adaptive_agent_is_not_resolved(
    walled_bench: Bench, tmp_path: Path, agent: AdaptiveAgent
) -> None:
    try_adaptive(walled_bench, agent, tmp_path)


@pytest.mark.parametrize("agent", LIMITS, ids=lambda agent: agent.name)
def test_known_limit_is_not_recorded_as_sealed(
    walled_bench: Bench, tmp_path: Path, agent: AdaptiveAgent
) -> None:
    record = walled_bench.command(agent.task.write(tmp_path / "small"), f"set -e; {agent.line}")

    assert record.controls is not None
    controlled = {test.node_id: test.control for test in record.controls.tests}
    assert set(controlled) == set(agent.task.fail_to_pass)
    assert ControlKind.SEALED not in controlled.values()


@pytest.mark.docker
@pytest.mark.parametrize("agent", gate_and_soak(in_docker(), AGENTS))
def test_adaptive_agent_is_not_resolved_in_docker(
    docker_bench: Bench, tmp_path: Path, agent: AdaptiveAgent
) -> None:
    try_adaptive(docker_bench, agent, tmp_path)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_agent_fools_a_naive_harness(naive: NaiveHarness, agent: AdaptiveAgent) -> None:
    try_naively(naive, agent)


@pytest.mark.parametrize("family", Family)
def test_first_agent_of_each_family_fools_a_naive_harness(
    bubblewrap: BubblewrapProvider, family: Family
) -> None:
    """The soak tries all of them."""
    first = next(agent for agent in AGENTS if agent.family is family)
    try_naively(NaiveHarness(provider=bubblewrap), first)
