"""Leaves what an agent did as `agent/trajectory.json`, for whoever reads or trains on it."""

from pathlib import Path

from agentbench.agents.interface import Agent, HasVersion
from agentbench.agents.model_door import ModelFacts
from agentbench.runs.storage import writing_into

LOG = Path("agent", "llm.jsonl")
_TRAJECTORY = Path("agent", "trajectory.json")


def leave_trajectory(
    folder: Path, *, agent: Agent, model: str, session: str, facts: ModelFacts
) -> None:
    """Write the trajectory of an attempt whose log of exchanges lies in its folder, if any.

    Raises:
        StorageError: there is no room for it.
    """
    from agentbench.agents.trajectory.atif import TrajectoryAgent
    from agentbench.agents.trajectory.build import trajectory
    from agentbench.agents.trajectory.from_log import exchanges_of

    if not (folder / LOG).is_file():
        return
    version = agent.version if isinstance(agent, HasVersion) else "unknown"
    told = trajectory(
        exchanges_of(folder / LOG),
        agent=TrajectoryAgent(name=agent.name, version=version, model_name=model),
        session=session,
        usage=facts.usage,
    )
    if told is None:
        return
    with writing_into(folder):
        written = told.model_dump_json(indent=1, exclude_none=True)
        (folder / _TRAJECTORY).write_text(f"{written}\n", encoding="utf-8")
