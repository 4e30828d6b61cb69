"""What the gateway has to know about a wire."""

from typing import Protocol

from agentbench.agents.gateway.tokens import Tokens
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.pytest_results.model import JsonObject


class WireFormat(Protocol):
    """How one wire writes what the gateway reads and answers."""

    @property
    def wire(self) -> Wire:
        """Which one it is."""

    @property
    def quota_status(self) -> int:
        """The status under which its clients take a spent budget for final, and do not retry."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request so that its stream will tell tokens; None where it will as it is."""

    def is_extra(self, event: JsonObject) -> bool:
        """Whether a stream has this event only since the request was amended."""

    def tokens(self, said: JsonObject, before: Tokens | None = None) -> Tokens | None:
        """What a whole answer, or an event of a stream after others, says of tokens so far."""

    def ends(self, event: JsonObject) -> bool:
        """Whether a stream is whole with this event."""

    def refuses(self, said: JsonObject) -> bool:
        """Whether an answer or an event says that the model will not answer."""

    def error(self, event: JsonObject) -> JsonObject | None:
        """The error that an event of a stream carries, in the form of an error's body."""

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """An error of our own, in the provider's form."""


class TellsItsTokens:
    """Part of a format whose streams tell their tokens as they are."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """Nothing has to be asked for."""
        del request
        return None

    def is_extra(self, event: JsonObject) -> bool:
        """Never."""
        del event
        return False


def object_in(said: object, *names: str) -> JsonObject:
    """The object under these names, one within the other; empty where there is none."""
    for name in names:
        said = said.get(name) if isinstance(said, dict) else None
    return said if isinstance(said, dict) else {}


def first_in(said: JsonObject, name: str) -> JsonObject:
    """The first object of the list under a name; empty where there is none."""
    listed = said.get(name)
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}
