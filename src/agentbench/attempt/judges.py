"""The two ways to judge: by the task's tests, or by a script of the task."""

from typing import Protocol

from agentbench.attempt.context import AgentRunOutput, FinalTestOutput, PreparedContext
from agentbench.attempt.judge_by_script import JudgeByScript
from agentbench.attempt.judge_by_tests import JudgeByTests
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import Evidence
from agentbench.tasks.task import Task


class Judge(Protocol):
    """Produces the evidence on which the verdict rests."""

    def baseline(self, context: PreparedContext) -> Evidence:
        """The evidence before any change, which has to show the bug."""

    def final(
        self,
        context: PreparedContext,
        baseline: Evidence,
        change: JudgedChange,
        work: AgentRunOutput,
        /,
    ) -> FinalTestOutput:
        """The evidence after the agent's change.

        Args:
            context: The inputs.
            baseline: The evidence of the baseline run.
            change: The judged part of the agent's change.
            work: The agent's work, for a script that judges in the agent's sandbox.
        """


def judge_of(task: Task) -> Judge:
    """The way in which a task is judged."""
    return JudgeByScript() if task.answer_key.verifier is not None else JudgeByTests()
