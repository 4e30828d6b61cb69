"""What the model is told beside its tools' answers: the task, and a reminder where one is due."""

from pathlib import PurePosixPath

from agentbench.agents.interface import Budget
from agentbench.agents.llm.conversation import Answer, Conversation, Stop
from agentbench.agents.llm.prompts import prompt
from agentbench.tasks.problem import Problem


def opening(problem: Problem, workspace: PurePosixPath, budget: Budget) -> Conversation:
    """The conversation before its first answer."""
    task = prompt(
        "task",
        instruction=problem.instruction.strip(),
        workspace=str(workspace),
        test_command=problem.test_command,
        max_steps=str(budget.max_steps),
        minutes=f"{max(1, round(budget.timeout.total_seconds() / 60))}",
    )
    return Conversation(system=prompt("system"), task=task)


def note_on(answer: Answer) -> str:
    """What is to be said about an answer itself; most often nothing."""
    if answer.stop is Stop.CUT_OFF:
        return prompt("cut_off")
    return "" if answer.tool_calls else prompt("reminder")
