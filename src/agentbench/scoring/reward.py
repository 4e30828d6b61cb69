"""What the script of a task gave for the work: numbers by name, one of which decides."""

from collections.abc import Mapping

from pydantic import Field

from agentbench.schema import Schema

DECIDING = "reward"
"""The name of the reward that decides where a script gives several."""


class RewardFacts(Schema):
    """The rewards that a verifier left, as they were read when nothing of it ran any more."""

    rewards: dict[str, float] = Field(default_factory=dict)
    fault: str = Field(default="", description="why there are none, in words")


def lack_of_reward(facts: RewardFacts | None, above: float) -> str | None:
    """What is missing for the task to count as resolved; None: nothing is."""
    if facts is None or facts.fault or not facts.rewards:
        return (facts.fault if facts is not None else "") or "the verifier left no reward"
    name, value = _deciding(facts.rewards)
    if value > above:
        return None
    return f"{name} {value:g} is not above {above:g}"


def _deciding(rewards: Mapping[str, float]) -> tuple[str, float]:
    """`reward` where it is among them, else the least of all: then each has to be enough."""
    name = DECIDING if DECIDING in rewards else min(rewards, key=lambda each: rewards[each])
    return name, rewards[name]
