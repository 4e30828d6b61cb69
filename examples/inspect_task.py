"""An agent of Inspect works at agentbench's tasks, and agentbench's judge scores it.

    inspect eval examples/inspect_task.py --model openai/MODEL -T sandbox=docker

Inspect reads a relative `-T tasks=FOLDER` from the folder of this file.
"""

from inspect_ai import Task, task
from inspect_ai.agent import react

from agentbench.extensions.adapters.inspect_task import (
    close_episode,
    episode_tools,
    judged,
    open_episode,
    task_samples,
)

PROMPT = "You are a software engineer. Find the cause of the bug, mend it, and run the tests."


@task
def agentbench(tasks: str = "../tasks", sandbox: str = "auto", reward: str = "resolved") -> Task:
    """The tasks of a folder."""
    return Task(
        dataset=task_samples(tasks),
        setup=open_episode(sandbox=sandbox, reward=reward),
        solver=react(prompt=PROMPT, tools=episode_tools()),
        scorer=judged(),
        cleanup=close_episode,
        message_limit=100,
    )
