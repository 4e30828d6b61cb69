"""Agentbench's tasks as a taskset of verifiers, with a harness whose tools work in the sandbox.

    PYTHONPATH=examples vf-eval agentbench_bugs --env.taskset.tasks tasks \
        --env.taskset.task.sandbox docker --model MODEL --client.base-url https://HOST/v1
"""

from collections.abc import Iterator

import verifiers.v1 as vf

from agentbench.extensions.adapters.verifiers_taskset import (
    EpisodeEnv,
    EpisodeHarness,
    JudgedTask,
    JudgedTaskset,
)

__all__ = ["Bugs", "EpisodeEnv", "EpisodeHarness"]

PROMPT = "You are a software engineer. Find the cause of the bug, mend it, and run the tests."


class Bug(JudgedTask):
    """A task that also measures how the agent works."""

    @vf.metric
    async def tool_calls(self, trace: vf.Trace) -> float:
        """How many tools the agent called."""
        return float(len(trace.tool_messages))


class Bugs(JudgedTaskset):
    """The tasks of a folder, each with a system prompt."""

    def load(self) -> Iterator[Bug]:
        """Read the tasks."""
        for task in super().load():
            yield Bug(task.data.model_copy(update={"system_prompt": PROMPT}), task.config)
