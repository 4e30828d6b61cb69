"""Parts of an Inspect task: samples, the sandbox of each, tools for any agent, and the scorer.

>>> Task(  # doctest: +SKIP
...     dataset=task_samples("tasks"),
...     setup=open_episode(sandbox="docker"),
...     solver=react(tools=episode_tools()),
...     scorer=judged(),
...     cleanup=close_episode,
... )

A sample without a verdict is unscored: Inspect's metrics leave it out.
"""

import asyncio
from pathlib import Path
from typing import Any, Final

from inspect_ai.dataset import Sample
from inspect_ai.hooks import Hooks, RunEnd, hooks
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolDef, ToolParams
from inspect_ai.util import store

from agentbench.extensions.adapters.episode import EPISODE_TOOLS, Episode, EpisodeTool, verdict_line
from agentbench.extensions.adapters.process_judge import JudgeSettings, close_judges, process_judge
from agentbench.tasks.loading import load_tasks

_FOLDER: Final = "agentbench_task"  # a key of a sample's metadata
_EPISODE: Final = "agentbench_episode"  # a key of a sample's store
_episodes: dict[str, Episode] = {}


def task_samples(*paths: Path | str) -> list[Sample]:
    """A sample for each task in some paths: task folders, folders of them, or suite files.

    Raises:
        InputError: a task is wrong, or there is none.
    """
    return [
        Sample(id=task.id, input=task.problem.instruction, metadata={_FOLDER: str(task.folder)})
        for task in load_tasks([Path(path) for path in paths]).tasks
    ]


@solver
def open_episode(
    sandbox: str = "auto", jobs: int | None = None, reward: str = "resolved"
) -> Solver:
    """The set-up of a sample: opens its sandbox, and gives the model its prompt.

    Args:
        sandbox: `auto`, `docker` or `bubblewrap`.
        jobs: How many samples are prepared or judged at a time; None: two for each core.
        reward: `resolved` or `fixed-share`.
    """
    settings = JudgeSettings(sandbox=sandbox, jobs=jobs, reward=reward)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Open the sandbox; one that cannot be opened leaves the sample unscored."""
        del generate
        judge = await asyncio.to_thread(process_judge, settings)
        episode = _episodes[state.uuid] = Episode(judge, str(state.metadata[_FOLDER]))
        state.store.set(_EPISODE, state.uuid)
        await episode.open()
        state.user_prompt.text = episode.prompt
        return state

    return solve


def episode_tools() -> list[ToolDef]:
    """The tools that work in the sandbox of the sample: for `react`, or any other agent."""
    return [_tool(each) for each in EPISODE_TOOLS]


@scorer(metrics=[mean(), stderr()])
def judged() -> Scorer:
    """The reward of the verdict on what the agent left; its reason is the explanation."""

    async def score(state: TaskState, target: Target) -> Score:
        """Judge the sandbox of the sample."""
        del target
        verdict = await _episodes[state.uuid].score()
        metadata = verdict.model_dump(mode="json")
        explanation = verdict_line(verdict)
        if verdict.reward is None:
            # Inspect's metrics leave an unscored sample out; a zero would count against the model.
            return Score.unscored(
                reason="scoring_failed", explanation=explanation, metadata=metadata
            )
        return Score(value=verdict.reward, explanation=explanation, metadata=metadata)

    return score


async def close_episode(state: TaskState) -> None:
    """The clean-up of a sample: removes its sandbox."""
    episode = _episodes.pop(state.uuid, None)
    if episode is not None:
        await episode.close()


@hooks(name="agentbench", description="Closes agentbench's judge at the end of a run.")
class JudgeHooks(Hooks):
    """Closes the judge at the end of a run."""

    async def on_run_end(self, data: RunEnd) -> None:
        """Remove what is left of the judge's sandboxes."""
        del data
        await asyncio.to_thread(close_judges)


def _tool(tool: EpisodeTool) -> ToolDef:
    async def execute(**kwargs: Any) -> str:  # noqa: ANN401 - Inspect converts other types
        """Call the tool in the sandbox of the current sample."""
        return await _episodes[store().get(_EPISODE)].call(tool.name, kwargs)

    return ToolDef(
        execute,
        name=tool.name,
        description=tool.description,
        parameters=ToolParams.model_validate(tool.schema),
    )
