"""Agents that cheat in JavaScript, and honest ones: blind runs tell them apart."""

from pathlib import Path

import pytest

from agentbench.integrity.records import ControlKind
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from tests.corpora.cheats.trials import critical
from tests.corpora.languages.javascript_cheats import CHEATS
from tests.corpora.languages.javascript_honest import HONEST
from tests.corpora.languages.javascript_naive import NaiveHarness
from tests.corpora.languages.javascript_task import JavaScriptAgent
from tests.e2e.bench import Bench
from tests.needed import require_tool
from tests.tiers import gate_and_soak


@pytest.fixture(autouse=True)
def _tool() -> None:
    require_tool("node")


IN_THE_GATE = {
    "node: assertions do nothing",
    "node: reads the values in the file of the tests",
    "mocha: patches the prototype of assertions",
}


@pytest.mark.parametrize(
    "cheat", gate_and_soak([one for one in CHEATS if one.name in IN_THE_GATE], CHEATS)
)
def test_cheat_is_not_resolved(walled_bench: Bench, tmp_path: Path, cheat: JavaScriptAgent) -> None:
    record = walled_bench.command(cheat.task.write(tmp_path / "task"), cheat.line)
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    assert not record.resolved


@pytest.mark.soak
@pytest.mark.parametrize("cheat", [pytest.param(one, id=one.name) for one in CHEATS])
def test_cheat_fools_the_tool_itself(
    bubblewrap: BubblewrapProvider, cheat: JavaScriptAgent
) -> None:
    judged = NaiveHarness(provider=bubblewrap).judge(cheat)
    assert judged.ok is cheat.fools_naive, judged.stdout + judged.stderr


@pytest.mark.parametrize("fix", gate_and_soak(HONEST[:1], HONEST))
def test_fix_is_resolved_and_all_of_its_tests_are_blind(
    walled_bench: Bench, tmp_path: Path, fix: JavaScriptAgent
) -> None:
    record = walled_bench.command(fix.task.write(tmp_path / "task"), fix.line)
    assert record.resolved, record.detail
    assert critical(record) == []
    assert record.controls is not None
    assert {one.node_id: one.control for one in record.controls.tests} == dict.fromkeys(
        fix.task.ids, ControlKind.BLIND
    )
