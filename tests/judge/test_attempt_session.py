"""An attempt whose agent works outside of the harness."""

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import AttemptSlot
from agentbench.errors import StorageError
from agentbench.judge.attempt_session import AttemptSession
from agentbench.scoring.evidence import AgentEnding
from agentbench.taxonomy import StageName
from tests.fakes.scripted_agent import ScriptedAgent
from tests.runs.conftest import options, workshop

__all__ = ["options", "workshop"]


def test_session_whose_log_cannot_be_opened_is_recorded_with_the_stages_before(
    workshop, task, tmp_path
):
    (tmp_path / "attempt" / "stages" / "agent_run.log").mkdir(parents=True)
    slot = AttemptSlot(folder=tmp_path / "attempt", run_id=RunId("run"), attempt=1)
    session = AttemptSession(task, ScriptedAgent(lambda *_: None), workshop(), slot)
    with pytest.raises(StorageError, match="cannot be written"):
        session.begin()
    record = session.finish(None, AgentOutcome(ending=AgentEnding.INTERRUPTED))
    assert not record.resolved
    assert [stage.name for stage in record.stages][-1] is StageName.BASELINE_RUN
