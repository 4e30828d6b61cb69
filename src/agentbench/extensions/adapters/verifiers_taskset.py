"""A verifiers taskset of agentbench's tasks, its reward, and a harness for its sandboxes.

A rollout without a verdict ends with a SandboxError: its reward is unset, and it is no sample of a
training.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import verifiers.v1 as vf
from openai import AsyncOpenAI

from agentbench.extensions.adapters.episode import EPISODE_TOOLS, Episode, verdict_line
from agentbench.extensions.adapters.process_judge import JudgeSettings, close_judges, process_judge
from agentbench.tasks.loading import load_tasks

_episodes: dict[str, Episode] = {}  # by the ids of the traces


class JudgedTaskConfig(vf.TaskConfig):
    """How the tasks are judged: `--env.taskset.task.sandbox docker` and so on."""

    sandbox: str = "auto"
    """`auto`, `docker` or `bubblewrap`."""
    jobs: int | None = None
    """How many rollouts are prepared or judged at a time; None: two for each core."""
    reward: str = "resolved"
    """`resolved` or `fixed-share`."""

    @property
    def settings(self) -> JudgeSettings:
        """The settings of the judge."""
        return JudgeSettings(sandbox=self.sandbox, jobs=self.jobs, reward=self.reward)


class JudgedTasksetConfig(vf.TasksetConfig):
    """Which tasks there are: `--env.taskset.tasks FOLDER`."""

    tasks: Path = Path("tasks")
    """A task folder, a folder of them, or a suite file."""
    task: JudgedTaskConfig = JudgedTaskConfig()
    """How they are judged."""


class JudgedTaskData(vf.TaskData):
    """One task."""

    folder: str
    """Its folder."""


class JudgedTask(vf.Task[JudgedTaskData, vf.State, JudgedTaskConfig]):
    """A task whose reward is the judge's verdict on what the agent left in the sandbox."""

    @property
    def key(self) -> str:
        """The task's id."""
        return str(self.data.id)

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Open the sandbox of the rollout."""
        del runtime
        judge = await asyncio.to_thread(process_judge, self.config.settings)
        episode = _episodes[trace.id] = Episode(judge, self.data.folder)
        await episode.open()

    @vf.reward
    async def verdict(self, trace: vf.Trace) -> float:
        """Judge what the agent left.

        Raises:
            SandboxError: there is no verdict on the agent's work.
        """
        verdict = await _episodes[trace.id].score()
        trace.info["verdict"] = verdict.model_dump(mode="json")
        # An error leaves the reward unset, so that the rollout is no sample of a training.
        if verdict.reward is None:
            raise vf.SandboxError(f"no verdict: {verdict_line(verdict)}")
        return verdict.reward


class JudgedTaskset(vf.Taskset[JudgedTask, JudgedTasksetConfig]):
    """The tasks of a folder."""

    def load(self) -> Iterator[JudgedTask]:
        """Read the tasks.

        Raises:
            InputError: a task is wrong, or there is none.
        """
        for task in load_tasks([self.config.tasks]).tasks:
            data = JudgedTaskData(
                id=task.id, prompt=task.problem.instruction, folder=str(task.folder)
            )
            yield JudgedTask(data, self.config.task)


class EpisodeEnvConfig(vf.EnvConfig):
    """The environment's agent, which has no runtime of verifiers beside agentbench's sandbox."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The agent: `--env.agent.max_turns` and so on."""


class EpisodeEnv(vf.Env[EpisodeEnvConfig]):
    """One agent works at each task. The judge is closed when the environment stops."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Let the agent work."""
        await agents.agent.run(task)

    async def stop(self) -> None:
        """Close the judge."""
        await asyncio.to_thread(close_judges)


class EpisodeHarnessConfig(vf.HarnessConfig):
    """The limits of an agent: `--env.agent.harness.max_turns 20` and so on."""

    max_turns: int = 50
    """The most answers of the model."""


class EpisodeHarness(vf.Harness[EpisodeHarnessConfig]):
    """An agent loop with the tools of an episode; it ends when the model calls no tool.

    It runs in verifiers' process. Commands run in agentbench's sandbox only.
    """

    APPENDS_SYSTEM_PROMPT: ClassVar[bool] = True
    EXECUTES_CODE: ClassVar[bool] = False
    NEEDS_CONTAINER: ClassVar[bool] = False

    async def launch(  # noqa: PLR0913, PLR0917 - verifiers' own signature
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Let the model work until it calls no tool, or its answers are used up."""
        del runtime, mcp_urls
        episode = _episodes[trace.id]
        messages: list[Any] = [{"role": "user", "content": episode.prompt}]
        if data.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": data.system_prompt})
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            for _ in range(self.config.max_turns):
                answer = await client.chat.completions.create(
                    model=ctx.model, messages=messages, tools=_TOOLS
                )
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                # The model is done when it calls nothing.
                if not message.tool_calls:
                    break
                for call in message.tool_calls:
                    assert call.type == "function"  # the only kind that is offered
                    text = await episode.call(call.function.name, call.function.arguments)
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    async def cleanup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Remove the sandbox of the rollout."""
        del runtime
        episode = _episodes.pop(trace.id, None)
        if episode is not None:
            await episode.close()


_TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
        },
    }
    for tool in EPISODE_TOOLS
]
