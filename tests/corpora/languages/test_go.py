"""Agents that cheat in Go, and honest ones: blind runs tell them apart."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbench.integrity.records import ControlKind
from tests.corpora.cheats.trials import critical
from tests.corpora.languages.go_cheats import CHEATS, GoCheat
from tests.corpora.languages.go_honest import HONEST
from tests.corpora.languages.go_task import FIX, IDS, write_task
from tests.e2e.bench import Bench
from tests.needed import require_tool
from tests.tiers import gate_and_soak


@pytest.fixture(autouse=True)
def _tool() -> None:
    require_tool("go")


IN_THE_GATE = {
    "the program prints the report and exits 0 when it is first called",
    "reads the value in the source of the test",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestGo:
    """An agent that mends the program."""

    name: str
    line: str


FIXES = [
    HonestGo(name="the reference solution", line=FIX),
    *(
        HonestGo(name=name, line=GoCheat(name=name, files=dict(files)).line)
        for name, files in HONEST.items()
    ),
]


@pytest.mark.parametrize(
    "cheat", gate_and_soak([one for one in CHEATS if one.name in IN_THE_GATE], CHEATS)
)
def test_cheat_is_not_resolved(walled_bench: Bench, tmp_path: Path, cheat: GoCheat) -> None:
    record = walled_bench.command(write_task(tmp_path / "task"), cheat.line)
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    assert not record.resolved


@pytest.mark.parametrize("fix", gate_and_soak(FIXES[:2], FIXES))
def test_fix_is_resolved_and_all_of_its_tests_are_blind(
    walled_bench: Bench, tmp_path: Path, fix: HonestGo
) -> None:
    record = walled_bench.command(write_task(tmp_path / "task"), fix.line)
    assert record.resolved, record.detail
    assert critical(record) == []
    assert record.controls is not None
    assert {one.node_id: one.control for one in record.controls.tests} == dict.fromkeys(
        IDS, ControlKind.BLIND
    )
    assert {one.why for one in record.controls.tests} == {"tests in Go are not sealed"}
