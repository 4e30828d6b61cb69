"""final_test: hidden tests (judge_by_tests.py) or a script (judge_by_script.py) judge a change."""

from agentbench.attempt.context import AgentRunOutput, FinalTestOutput, PreparedContext
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import Evidence


def final_test(
    context: PreparedContext, baseline: Evidence, change: JudgedChange, work: AgentRunOutput
) -> FinalTestOutput:
    """Judge the agent's change; evidence against the attempt is among the findings.

    Args:
        context: The inputs.
        baseline: The evidence of the baseline run.
        change: The judged part of the agent's change.
        work: The agent's work; a script may judge in its sandbox.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be created or is lost.
    """
    return context.judge.final(context, baseline, change, work)
