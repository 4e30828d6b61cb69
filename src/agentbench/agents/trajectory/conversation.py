"""What models and agents say to each other, in words that all wires share."""

from dataclasses import dataclass
from enum import StrEnum

from agentbench.pytest_results.model import JsonObject


class Speaker(StrEnum):
    """Who says a turn; what tools answer is said by the user."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that the model asks for."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a tool answered."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    speaker: Speaker
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
