"""Agents that work as people do, with debris and detours, are judged by what they left."""

from pathlib import Path

import pytest

from agentbench.runs.store import RunStore
from tests.e2e.bench import Bench
from tests.integrity.honest import HONEST, Honest
from tests.integrity.trials import try_honest


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest.name)
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    walled_bench: Bench, tmp_path: Path, honest: Honest
) -> None:
    record = try_honest(walled_bench, honest, tmp_path)

    if honest.resolved:
        folder = RunStore.open(walled_bench.options.runs_dir / record.run_id).folder_of(record)
        assert (folder / "patch.diff").read_bytes()
