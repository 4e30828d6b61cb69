from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.extensions.llm.agent import (
    ConversationMemory,
    fit_to_window,
    tokens_of,
    tokens_of_tools,
)
from agentbench.extensions.llm.tools import tool_specs
from agentbench.models.conversation import (
    Conversation,
    ConversationTurn,
    ModelAnswer,
    ModelToolCall,
    ToolReply,
)


def turn(*outputs, text="thinking"):
    calls = tuple(
        ModelToolCall(id=str(number), name="run", arguments="{}") for number in range(len(outputs))
    )
    replies = tuple(ToolReply(text=output) for output in outputs)
    return ConversationTurn(answer=ModelAnswer(text=text, tool_calls=calls), replies=replies)


def of(*turns):
    return Conversation(system="the rules", task="the report", turns=turns)


def outputs_of(conversation):
    return [reply.text for turn in conversation.turns for reply in turn.replies]


def test_what_fits_stays_as_it_is():
    conversation = of(turn("a" * 3_000), turn("b" * 3_000))
    assert fit_to_window(conversation, 10_000) is conversation


def test_the_oldest_output_goes_first_and_says_so():
    conversation = fit_to_window(of(*(turn(str(number) * 6_000) for number in range(5))), 8_000)
    first, *_, last = outputs_of(conversation)
    assert first == "[6000 characters were left out here to save room; call again if needed]"
    assert last == "4" * 6_000
    assert len(conversation.turns) == 5
    assert tokens_of(conversation) <= 8_000


def test_once_something_has_to_go_some_room_is_made_for_what_comes():
    turns = [turn("x" * 6_000) for _ in range(5)]
    room = tokens_of(of(*turns)) - 1
    assert tokens_of(fit_to_window(of(*turns), room)) <= 0.7 * room


def test_short_output_is_worth_keeping():
    conversation = of(turn("ok"), turn("x" * 60_000), turn("y" * 600))
    assert outputs_of(fit_to_window(conversation, 15_000))[0] == "ok"


def test_then_whole_turns_go_and_are_counted_behind_the_report():
    conversation = fit_to_window(of(*(turn("ok", text="w" * 3_000) for _ in range(20))), 8_000)
    left = len(conversation.turns)
    assert 1 < left < 20
    assert conversation.opening == (
        f"the report\n\n[{20 - left} earlier steps were left out here to save room.]"
    )


def test_at_last_the_latest_output_is_cut_in_its_middle():
    conversation = fit_to_window(of(turn("old"), turn("a" * 90_000, "b" * 90_000)), 10_000)
    assert len(conversation.turns) == 1
    assert tokens_of(conversation) <= 10_000
    for output in outputs_of(conversation):
        assert "characters left out" in output


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("aü€🐍"), st.integers(0, 40_000)), max_size=3),
        max_size=6,
    ),
    st.integers(3_000, 40_000),
)
def test_whatever_tools_say_it_fits_and_rules_and_report_are_in_it(outputs, room):
    turns = [turn(*(letter * size for letter, size in each)) for each in outputs]
    conversation = fit_to_window(of(*turns), room)
    assert tokens_of(conversation) <= room
    assert (conversation.system, conversation.task) == ("the rules", "the report")
    assert conversation.turns[-1:] == () if not turns else conversation.turns
    for kept in conversation.turns:
        assert len(kept.replies) == len(kept.answer.tool_calls)


def test_a_memory_forgets_as_it_grows_and_more_so_when_told():
    memory = ConversationMemory(of(), 10_000)
    for _ in range(10):
        memory.add(turn("x" * 6_000))
        assert tokens_of(memory.conversation) <= 10_000
    before = tokens_of(memory.conversation)
    memory.shrink()
    assert tokens_of(memory.conversation) <= 0.6 * before
    memory.add(turn("x" * 6_000))
    assert tokens_of(memory.conversation) <= 0.6 * before


@pytest.mark.parametrize("text", ["def f(x):\n    return x + 1\n" * 50, "ü" * 500, "中文" * 250])
def test_tokens_are_estimated_high(text):
    """Four characters of code, one or two of other scripts, are a token at the least."""
    assert tokens_of(of(turn(text))) > len(text.encode()) / 4


def test_the_tools_take_some_of_the_room():
    assert 500 < tokens_of_tools(tool_specs()) < 4_000


def test_thoughts_go_when_anything_before_them_changes_and_stay_otherwise():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turns = [turn("x" * 6_000) for _ in range(4)]
    thinking = [replace(each, answer=replace(each.answer, verbatim=(thought,))) for each in turns]
    whole, cut = fit_to_window(of(*thinking), 100_000), fit_to_window(of(*thinking), 5_000)
    assert [each.answer.verbatim for each in whole.turns] == [(thought,)] * 4
    assert not any(each.answer.verbatim for each in cut.turns)


def test_thoughts_take_room():
    large = {"type": "thinking", "thinking": "x" * 3_000, "signature": "s"}
    plain = turn("ok")
    thinking = replace(plain, answer=replace(plain.answer, verbatim=(large,)))
    kept = replace(plain, answer=replace(plain.answer, extra={"reasoning_content": "x" * 3_000}))
    assert tokens_of(of(thinking)) > tokens_of(of(plain)) + 1_000
    assert tokens_of(of(kept)) > tokens_of(of(plain)) + 1_000
