"""An OpenEnv environment: each episode is a task, and its last step has the judge's reward.

>>> app = create_app(  # doctest: +SKIP
...     lambda: JudgedEnvironment(tasks, JudgeSettings(sandbox="docker")),
...     AgentAction, AgentObservation, max_concurrent_envs=8,
... )
>>> app.router.on_shutdown.append(close_judges)  # doctest: +SKIP
"""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import uuid4

from openenv.core.env_server import Action, Environment, Observation, State
from pydantic import Field

from agentbench.errors import InputError
from agentbench.extensions.adapters.episode import EPISODE_TOOLS, Episode, verdict_line
from agentbench.extensions.adapters.process_judge import JudgeSettings, process_judge
from agentbench.tasks.task import Task

SUBMIT = "submit"
"""The tool that ends an episode."""
_NAMES = ", ".join([*(tool.name for tool in EPISODE_TOOLS), SUBMIT])


class AgentAction(Action):
    """A call of a tool. `submit` ends the episode."""

    tool: str = Field(description=f"One of {_NAMES}.")
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="The tool's arguments; the schemas are in the metadata of the first "
        "observation.",
    )


class AgentObservation(Observation):
    """The answer of a tool, or the prompt of a task.

    The reward of the last observation is None if there is no verdict on the agent's work: leave
    the episode out of the training. `metadata["verdict"]` says why.
    """

    text: str
    """What the model reads."""


class JudgedEnvironment(Environment[AgentAction, AgentObservation, State]):
    """One agent's work at one task. OpenEnv's server creates one for each client."""

    SUPPORTS_CONCURRENT_SESSIONS: ClassVar[bool] = True

    def __init__(self, tasks: Sequence[Task], settings: JudgeSettings) -> None:
        """An environment with some tasks.

        Args:
            tasks: The tasks, at least one.
            settings: The settings of the judge, which the environments of a process share.
        """
        super().__init__()
        self._tasks = tasks
        self._settings = settings
        self._episode: Episode | None = None
        self._state = State()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None
    ) -> AgentObservation:
        """Start an episode; the sandbox of an earlier one is removed.

        Args:
            seed: Selects the task if none is named; by default the first.
            episode_id: The id of the episode.
            task: The id of the task.

        Raises:
            InputError: there is no such task.
            UnavailableError: the sandbox is not available.
        """
        chosen = self._task_for(task, seed)
        await self._end()
        judge = await asyncio.to_thread(process_judge, self._settings)
        self._state = State(episode_id=episode_id or uuid4().hex)
        self._episode = Episode(judge, chosen)
        await self._episode.open()
        schemas = {tool.name: tool.schema for tool in EPISODE_TOOLS}
        metadata = {"task": chosen.id, "tools": {**schemas, SUBMIT: {"type": "object"}}}
        return AgentObservation(text=self._episode.prompt, metadata=metadata)

    async def step_async(
        self, action: AgentAction, timeout_s: float | None = None
    ) -> AgentObservation:
        """Call a tool. `submit` judges what the agent left, and ends the episode.

        Args:
            action: The call.
            timeout_s: Not used: the task limits the agent's time.

        Raises:
            InputError: the episode was not started.
        """
        del timeout_s
        if self._episode is None:
            raise InputError("expected a reset before the first step")
        self._state.step_count += 1
        if action.tool != SUBMIT:
            return AgentObservation(text=await self._episode.call(action.tool, action.arguments))
        verdict = await self._episode.score()
        return AgentObservation(
            text=verdict_line(verdict),
            reward=verdict.reward,
            done=True,
            metadata={"verdict": verdict.model_dump(mode="json")},
        )

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None
    ) -> AgentObservation:
        """See reset_async."""
        return asyncio.run(self.reset_async(seed, episode_id, task))

    def step(self, action: AgentAction, timeout_s: float | None = None) -> AgentObservation:
        """See step_async."""
        return asyncio.run(self.step_async(action, timeout_s))

    @property
    def state(self) -> State:
        """The id of the episode, and how many steps it has."""
        return self._state

    def close(self) -> None:
        """Remove the sandbox. The server calls this when the client goes away."""
        asyncio.run(self._end())

    async def _end(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            await episode.close()

    def _task_for(self, task: str | None, seed: int | None) -> Task:
        if task is None:
            return self._tasks[(seed or 0) % len(self._tasks)]
        found = next((each for each in self._tasks if each.id == task), None)
        if found is None:
            raise InputError(f"task: expected one of the server's tasks, found {task!r}")
        return found
