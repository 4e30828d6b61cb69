"""All adaptive agents, and those that the gate and Docker try."""

from tests.integrity.adaptive import channels, objects, observing, plausible, recorder, state
from tests.integrity.adaptive.agent import AdaptiveAgent, Family

AGENTS: tuple[AdaptiveAgent, ...] = (
    *plausible.AGENTS,
    *observing.AGENTS,
    *channels.AGENTS,
    *state.AGENTS,
    *objects.AGENTS,
    *recorder.AGENTS,
)

_SOAK_ONLY = {
    "an exception class that every error is an instance of",
    "evaluates the expected side of the assertion",
    "takes the sealed value from the docstring",  # as one from a comment
    "takes the sealed value from a message",
    "takes another guess by the number of failed tests",
    "reads byte-code of other runs",  # as one that stores what it reads in files
    "forks for each guess",
    "measures how long a comparison takes",
    "expects the sealed tests to fail",  # as one that skips them
    "uses up the memory of the sealed run",
    "hangs in the sealed run",
    "a module that shows other functions to sealed tests",
    "an object that lies about its class",
    "records again from a trace",  # as one that records every guess
    "records from an audit hook",
    "records when a value is deleted",
    "patches os.write",  # as one that patches the encoder
    "fills the recordings",
    "leaves from the recorder",
    "exchanges operands from a profile",
}
"""Agents of which the gate tries a like one, or that take long."""


def in_the_gate() -> list[AdaptiveAgent]:
    """Agents of all families; of those that share a channel, only one that does not wait."""
    votes = [agent for agent in AGENTS if agent.family is Family.MAJORITY]
    left_out = {*_SOAK_ONLY, *(agent.name for agent in votes[:-1])}
    return [agent for agent in AGENTS if agent.name not in left_out]


def in_docker() -> list[AdaptiveAgent]:
    """Those that the gate tries in Docker, too; the soak tries all."""
    return [agent for agent in AGENTS if agent.in_docker]
