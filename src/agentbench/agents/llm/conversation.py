"""What is said between the agent and its model, before any wire."""

from dataclasses import dataclass, field
from enum import StrEnum

from agentbench.pytest_results.model import JsonObject


class Stop(StrEnum):
    """Why a model stopped writing."""

    DONE = "done"  # it said, or called, all that it wanted
    CUT_OFF = "cut_off"  # at the limit of tokens that one answer may have
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, as the model wrote it."""

    id: str
    name: str
    arguments: str  # JSON, if the model did well
    extra: JsonObject = field(default_factory=dict)  # what its provider wants to see again


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a model."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: Stop = Stop.DONE
    extra: JsonObject = field(default_factory=dict)  # what its provider wants to see again
    verbatim: tuple[JsonObject, ...] = ()  # all of it as its provider wrote it, thoughts included;
    # providers take thoughts back only while nothing that stood before them has changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a tool answers; `failed` when it could not do what it was called for."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An answer of the model, and what came back: a reply to each call in order, and a note."""

    answer: Answer
    replies: tuple[Reply, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All that a model gets to read."""

    system: str
    task: str
    turns: tuple[Turn, ...] = ()
    forgotten: int = 0  # turns that stood before these

    @property
    def opening(self) -> str:
        """The task, and a word on what is missing between it and the first turn."""
        if not self.forgotten:
            return self.task
        return f"{self.task}\n\n[{self.forgotten} earlier steps were left out here to save room.]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is shown to a model."""

    name: str
    description: str
    schema: JsonObject
