"""The conversations of an attempt, from the log of its gateway.

An agent may have several conversations: sub-agents, titles, summaries. Each request repeats its
conversation, so it continues the one that has the request's last answer. If the client sent an
answer again after another one, it dropped the later one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import TEXT_LIMIT, objects, text
from agentbench.models.conversation import Message, Role
from agentbench.models.formats.interface import nested_object
from agentbench.models.gateway.exchange_log import LoggedExchange
from agentbench.models.trajectory import answer_message, request_messages

_CUT = re.compile(r"\n\[\.\.\. \d+ characters left out \.\.\.\]\n")
_PARAMETERS = ("parameters", "input_schema", "parametersJsonSchema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation: its messages up to the model's last answer, and the tools it may call."""

    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]

    @property
    def answers(self) -> int:
        """The number of the model's messages."""
        return sum(message.speaker is Role.AGENT for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptConversations:
    """The conversations of an attempt; `main` is the one with the most answers."""

    main: Conversation | None
    number: int
    is_complete: bool  # the log has every text of the main one


def conversations_in(exchanges: Iterable[LoggedExchange]) -> AttemptConversations:
    """The conversations in a log, in the order of its exchanges."""
    threads = _Threads()
    for exchange in exchanges:
        threads.add(exchange)
    found = [thread.conversation() for thread in threads.open]
    main = max(found, key=lambda each: each.answers, default=None)
    messages = main.messages if main is not None else ()
    was_cut = any(map(_was_cut, messages))
    return AttemptConversations(
        main=main, number=len(found), is_complete=not (was_cut or threads.has_gaps)
    )


def chat_tools(request: JsonObject) -> Iterator[JsonObject]:
    """The tools of a request in any API format, as a chat template expects them."""
    for tool in objects(request.get("tools")):
        declared = list(objects(tool.get("functionDeclarations")))
        for each in declared or [nested_object(tool, "function") or tool]:
            name = text(each.get("name"))
            if not name:
                continue
            schemas = (nested_object(each, key) for key in _PARAMETERS)
            function = {
                "name": name,
                "description": text(each.get("description")),
                "parameters": next(filter(None, schemas), {"type": "object", "properties": {}}),
            }
            yield {"type": "function", "function": function}


@dataclass(slots=True, kw_only=True)
class _Thread:
    messages: list[Message]
    request: JsonObject = field(default_factory=dict)

    def conversation(self) -> Conversation:
        return Conversation(messages=tuple(self.messages), tools=tuple(chat_tools(self.request)))

    # The position of an answer that the client sent back.
    def position_of(self, turn: Message) -> int | None:
        numbered = list(enumerate(self.messages))
        return next((at for at, known in reversed(numbered) if _is_same(known, turn)), None)


class _Threads:
    def __init__(self) -> None:
        self.open: list[_Thread] = []
        self.has_gaps = False

    # Add an exchange to the conversation that it continues, or begin another one.
    def add(self, exchange: LoggedExchange) -> None:
        if exchange.error is not None or exchange.abandoned:
            return
        if exchange.request_cut or exchange.answer_left_out or not exchange.answer:
            self.has_gaps = True
            if not exchange.answer:
                return
        turns = request_messages(exchange)
        thread = self._continued(turns)
        if thread is None:
            thread = _Thread(messages=turns)
            self.open.append(thread)
        thread.messages.append(answer_message(exchange))
        thread.request = exchange.request

    def _continued(self, turns: Sequence[Message]) -> _Thread | None:
        answers = [
            at
            for at, turn in enumerate(turns)
            if turn.speaker is Role.AGENT and (turn.calls or turn.text.strip())
        ]
        for thread in reversed(self.open):
            if not answers:
                if thread.messages[:-1] == turns:  # the client repeats its first request
                    del thread.messages[-1]
                    return thread
                continue
            known = thread.position_of(turns[answers[-1]])
            if known is not None:
                thread.messages[known + 1 :] = turns[answers[-1] + 1 :]
                return thread
        return None


# Whether a client sent this answer; it may have changed its form.
def _is_same(known: Message, sent: Message) -> bool:
    if known.speaker is not Role.AGENT:
        return False
    if sent.calls:
        ids = {call.id for call in known.calls if call.id}
        same_id = any(call.id in ids for call in sent.calls)
        return same_id or known.calls == sent.calls
    return not known.calls and known.text.strip() == sent.text.strip()


def _was_cut(message: Message) -> bool:
    texts = (message.text, message.reasoning, *(result.text for result in message.results))
    return any(len(each) > TEXT_LIMIT and _CUT.search(each) is not None for each in texts)
