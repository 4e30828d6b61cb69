from agentbench.agents.reference import NoopAgent
from agentbench.scoring.evidence import AgentEnding


def test_nothing_is_changed_and_that_is_submitted(problem, sandbox, workspace, budget):
    outcome = NoopAgent().solve(problem, sandbox, budget, None)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "changed nothing")
    assert [path.name for path in workspace.iterdir()] == ["code.py"]
    assert (workspace / "code.py").read_text() == "x = 1\n"
