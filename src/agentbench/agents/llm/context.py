"""Keeps a conversation within the context window, dropping old tool output first."""

import json
from collections.abc import Sequence
from dataclasses import replace

from agentbench.models.conversation import (
    Conversation,
    ConversationTurn,
    ModelAnswer,
    ToolReply,
    ToolSpec,
)
from agentbench.pytest_results.tool_calls.size_limit import cut_middle

_BYTES_PER_TOKEN = 3  # a low estimate, so that requests always fit
_TOKENS_PER_MESSAGE = 8  # tokens of the API format around a message
_SHARE_AFTER_CUT = 0.7  # of the window after a cut; cutting at each step would defeat prompt caches
_SHARE_AFTER_ERROR = 0.6  # of the size that was too long
_MIN_DROPPED_LENGTH = 400  # characters; shorter output stays
_OUTPUT_LENGTHS = (16_384, 8_192, 4_096, 2_048, 1_024, 512, 256)  # characters of the latest output


class ConversationMemory:
    """A conversation that is kept within a number of tokens."""

    def __init__(self, conversation: Conversation, room: int) -> None:
        self._room = room
        self.conversation = fit_to_window(conversation, room)

    def add(self, turn: ConversationTurn) -> None:
        """Add a turn; older ones may be dropped."""
        turns = (*self.conversation.turns, turn)
        self.conversation = fit_to_window(replace(self.conversation, turns=turns), self._room)

    def shrink(self) -> None:
        """Reduce the limit, since the model refused this conversation as too long."""
        self._room = int(tokens_of(self.conversation) * _SHARE_AFTER_ERROR)
        self.conversation = fit_to_window(self.conversation, self._room)


def tokens_of(conversation: Conversation) -> int:
    """A high estimate of a conversation's tokens."""
    fixed = _tokens(conversation.system) + _tokens(conversation.opening)
    return fixed + sum(map(_tokens_of_turn, conversation.turns))


def tokens_of_tools(tools: Sequence[ToolSpec]) -> int:
    """An estimate of the tokens of tool descriptions."""
    return sum(_tokens(tool.name + tool.description + json.dumps(tool.schema)) for tool in tools)


def fit_to_window(conversation: Conversation, room: int) -> Conversation:
    """The conversation, shortened if it does not fit; the system prompt and the task stay.

    Args:
        conversation: The whole conversation.
        room: The limit in tokens.
    """
    if tokens_of(conversation) <= room:
        return conversation
    goal = int(room * _SHARE_AFTER_CUT)
    conversation = _without_old_output(_without_thoughts(conversation), goal)
    conversation = _without_old_turns(conversation, goal)
    shorter = conversation
    for length in _OUTPUT_LENGTHS:
        if tokens_of(shorter) <= goal or not conversation.turns:
            break
        *others, last = conversation.turns
        replies = tuple(replace(each, text=cut_middle(each.text, length)) for each in last.replies)
        shorter = replace(conversation, turns=(*others, replace(last, replies=replies)))
    return shorter


def _without_thoughts(conversation: Conversation) -> Conversation:
    """Without reasoning, which providers reject after a change before it."""
    turns = (replace(turn, answer=replace(turn.answer, verbatim=())) for turn in conversation.turns)
    return replace(conversation, turns=tuple(turns))


def _without_old_output(conversation: Conversation, goal: int) -> Conversation:
    excess = tokens_of(conversation) - goal
    turns: list[ConversationTurn] = []
    for turn in conversation.turns[:-1]:
        short = turn
        if excess > 0:
            short = replace(turn, replies=tuple(map(_without_text, turn.replies)))
            excess -= _tokens_of_turn(turn) - _tokens_of_turn(short)
        turns.append(short)
    return replace(conversation, turns=(*turns, *conversation.turns[-1:]))


def _without_old_turns(conversation: Conversation, goal: int) -> Conversation:
    while len(conversation.turns) > 1 and tokens_of(conversation) > goal:
        rest, forgotten = conversation.turns[1:], conversation.left_out_turns + 1
        conversation = replace(conversation, turns=rest, left_out_turns=forgotten)
    return conversation


def _without_text(reply: ToolReply) -> ToolReply:
    if len(reply.text) <= _MIN_DROPPED_LENGTH:
        return reply
    text = f"[{len(reply.text)} characters were left out here to save room; call again if needed]"
    return replace(reply, text=text)


def _tokens_of_turn(turn: ConversationTurn) -> int:
    replies = sum(_tokens(reply.text) for reply in turn.replies)
    return _tokens_of_answer(turn.answer) + replies + _tokens(turn.note)


def _tokens_of_answer(answer: ModelAnswer) -> int:
    thoughts = _tokens(json.dumps([answer.extra, answer.verbatim]))
    calls = sum(_tokens(call.name + call.arguments) for call in answer.tool_calls)
    return _tokens(answer.text) + calls + thoughts


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE
