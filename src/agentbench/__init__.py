"""agentbench determines whether a coding agent fixed a bug, why not, and whether it cheated."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentbench.agents.interface import AgentOutcome, AgentSandbox, Budget
    from agentbench.attempt.record import AttemptRecord
    from agentbench.judge.judge import Judge
    from agentbench.judge.judge_verdict import JudgeVerdict
    from agentbench.judge.reward_kind import RewardKind
    from agentbench.judge.scoring import Submission
    from agentbench.models.interface import ModelEndpoint
    from agentbench.runs.api import run_attempt, run_tasks
    from agentbench.runs.options import RunOptions
    from agentbench.sandbox.interface import Command
    from agentbench.scoring.evidence import AgentEnding
    from agentbench.tasks.loading import load_tasks
    from agentbench.tasks.problem import Problem

    # An extension, so not in `__all__`: without its folder the name is missing.
    from agentbench.extensions.service.client import RemoteJudge as RemoteJudge  # isort: skip

__version__ = "0.2.0"

__all__ = [
    "AgentEnding",
    "AgentOutcome",
    "AgentSandbox",
    "AttemptRecord",
    "Budget",
    "Command",
    "Judge",
    "JudgeVerdict",
    "ModelEndpoint",
    "Problem",
    "RewardKind",
    "RunOptions",
    "Submission",
    "__version__",
    "load_tasks",
    "run_attempt",
    "run_tasks",
]

_HOMES = {
    "AgentEnding": "scoring.evidence",
    "AgentOutcome": "agents.interface",
    "AgentSandbox": "agents.interface",
    "AttemptRecord": "attempt.record",
    "Budget": "agents.interface",
    "Command": "sandbox.interface",
    "Judge": "judge.judge",
    "JudgeVerdict": "judge.judge_verdict",
    "ModelEndpoint": "models.interface",
    "Problem": "tasks.problem",
    "RewardKind": "judge.reward_kind",
    "RunOptions": "runs.options",
    "Submission": "judge.scoring",
    "load_tasks": "tasks.loading",
    "run_attempt": "runs.api",
    "run_tasks": "runs.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        from agentbench.core.extensions import Slot, offers

        if (offer := offers(Slot.NAME).get(name)) is not None:
            return offer.load()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = vars(import_module(f"{__name__}.{_HOMES[name]}"))[name]
    return value


def __dir__() -> list[str]:
    # The names are loaded on first use, so `dir` and completion in a shell would not show them.
    return sorted(__all__)
