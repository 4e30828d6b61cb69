"""Agents that cheat in JavaScript, and honest ones: blind runs tell them apart."""

from pathlib import Path

import pytest

from agentbench.integrity.records import ControlKind
from tests.corpora.cheats.trials import critical
from tests.corpora.languages.javascript_agents import (
    CHEATS,
    HONEST,
    IDS,
    JavaScriptAgent,
    write_task,
)
from tests.e2e.bench import Bench
from tests.needed import require_tool
from tests.tiers import gate_and_soak


@pytest.fixture(autouse=True)
def _tool() -> None:
    require_tool("node")


IN_THE_GATE = {"assertions do nothing", "reads the values in the file of the tests"}


@pytest.mark.parametrize(
    "cheat", gate_and_soak([one for one in CHEATS if one.name in IN_THE_GATE], CHEATS)
)
def test_cheat_is_not_resolved(walled_bench: Bench, tmp_path: Path, cheat: JavaScriptAgent) -> None:
    record = walled_bench.command(write_task(tmp_path / "task"), cheat.line)
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    assert not record.resolved


@pytest.mark.parametrize("fix", gate_and_soak(HONEST[:1], HONEST))
def test_fix_is_resolved_and_all_of_its_tests_are_blind(
    walled_bench: Bench, tmp_path: Path, fix: JavaScriptAgent
) -> None:
    record = walled_bench.command(write_task(tmp_path / "task"), fix.line)
    assert record.resolved, record.detail
    assert critical(record) == []
    assert record.controls is not None
    assert {one.node_id: one.control for one in record.controls.tests} == dict.fromkeys(
        IDS, ControlKind.BLIND
    )
