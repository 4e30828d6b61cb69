from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.errors import UsageError
from agentbench.extensions.llm.agent import (
    ConversationMemory,
    LlmAgent,
    fit_to_window,
    note_about,
    opening_conversation,
    prompt,
    skills_prompt,
    tokens_of,
    tokens_of_tools,
)
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL, tool_specs
from agentbench.models.conversation import (
    Conversation,
    ConversationTurn,
    ModelAnswer,
    ModelToolCall,
    StopReason,
    ToolReply,
)
from agentbench.tasks.mcp_servers import McpServer
from tests.extensions.llm.conftest import budget_of
from tests.sandbox.conformance_base import sh


def test_report_with_placeholders_is_unchanged(problem):
    asked = problem.replace(instruction="{workspace} {x} \\1 {{}}")
    opening = opening_conversation(asked, PurePosixPath("/work"), budget_of(steps=5, seconds=30))
    assert "{workspace} {x} \\1 {{}}" in opening.task
    assert "in the workspace, /work." in opening.task
    assert "at most 5 answers and 1 minutes" in opening.task


def test_note_follows_only_an_answer_without_call_or_end():
    call = ModelToolCall(id="1", name="run", arguments="{}")
    assert note_about(ModelAnswer(tool_calls=(call,))) == ""
    assert "called no tool" in note_about(ModelAnswer(text="done"))
    assert "cut off" in note_about(ModelAnswer(tool_calls=(call,), stop=StopReason.CUT_OFF))


def test_tools_of_the_prompt_exist():
    rules = prompt("system", network="There is no network.")
    named = {word.strip(":,.") for word in rules.split("`")[1::2]}
    assert named - {"ls", "grep"} <= set(EFFECT_OF_TOOL)
    assert "submit" in named


def test_prompt_without_a_value_raises():
    with pytest.raises(KeyError):
        prompt("task", instruction="x")


@pytest.mark.parametrize(
    ("network", "line"),
    [
        (False, "- There is no network. Tests"),
        (True, "- There is a network. Tests"),
        (("pypi.org", "*.a.org"), "these hosts, by the proxy in the usual variables: pypi.org, "),
    ],
)
def test_prompt_names_the_network(network, line, problem, budget):
    asked = problem.replace(network=network)
    assert line in opening_conversation(asked, PurePosixPath("/w"), budget).system


def test_prompt_names_the_skills_of_a_task(isolated, problem):
    assert skills_prompt(problem, isolated) == ""
    sh(
        isolated,
        "mkdir -p skills/signing; printf -- '---\\nname: signing\\n' > skills/signing/SKILL.md",
    )
    folder = f"{isolated.workspace}/skills"
    text = skills_prompt(problem.replace(skills=folder), isolated)
    assert f"{folder}/signing/SKILL.md\n---\nname: signing" in text
    assert skills_prompt(problem.replace(skills="/nowhere"), isolated) == ""


def test_task_with_mcp_servers_is_refused(problem, sandbox):
    server = McpServer(name="clock", transport="stdio", command="clock")
    served = problem.replace(mcp_servers=(server,))
    with pytest.raises(UsageError, match=r"take claude-code, codex, gemini-cli or qwen-code$"):
        LlmAgent().solve(served, sandbox, budget_of(), object())


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


def test_conversation_that_fits_is_unchanged():
    conversation = of(turn("a" * 3_000), turn("b" * 3_000))
    assert fit_to_window(conversation, 10_000) is conversation


def test_oldest_output_is_dropped_first():
    conversation = fit_to_window(of(*(turn(str(number) * 6_000) for number in range(5))), 8_000)
    first, *_, last = outputs_of(conversation)
    assert first == "[6000 characters were left out here to save room; call again if needed]"
    assert last == "4" * 6_000
    assert len(conversation.turns) == 5
    assert tokens_of(conversation) <= 8_000


def test_cut_leaves_room_for_later_turns():
    turns = [turn("x" * 6_000) for _ in range(5)]
    room = tokens_of(of(*turns)) - 1
    assert tokens_of(fit_to_window(of(*turns), room)) <= 0.7 * room


def test_short_output_is_kept():
    conversation = of(turn("ok"), turn("x" * 60_000), turn("y" * 600))
    assert outputs_of(fit_to_window(conversation, 15_000))[0] == "ok"


def test_dropped_turns_are_counted():
    conversation = fit_to_window(of(*(turn("ok", text="w" * 3_000) for _ in range(20))), 8_000)
    left = len(conversation.turns)
    assert 1 < left < 20
    assert conversation.opening == (
        f"the report\n\n[{20 - left} earlier steps were left out here to save room.]"
    )


def test_latest_output_is_cut_in_its_middle():
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
def test_any_conversation_fits_and_keeps_system_prompt_and_task(outputs, room):
    turns = [turn(*(letter * size for letter, size in each)) for each in outputs]
    conversation = fit_to_window(of(*turns), room)
    assert tokens_of(conversation) <= room
    assert (conversation.system, conversation.task) == ("the rules", "the report")
    assert conversation.turns[-1:] == () if not turns else conversation.turns
    for kept in conversation.turns:
        assert len(kept.replies) == len(kept.answer.tool_calls)


def test_memory_stays_within_its_limit():
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
def test_token_estimate_is_high(text):
    assert tokens_of(of(turn(text))) > len(text.encode()) / 4


def test_tool_descriptions_count():
    assert 500 < tokens_of_tools(tool_specs()) < 4_000


def test_reasoning_is_dropped_only_after_a_cut():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turns = [turn("x" * 6_000) for _ in range(4)]
    thinking = [replace(each, answer=replace(each.answer, verbatim=(thought,))) for each in turns]
    whole, cut = fit_to_window(of(*thinking), 100_000), fit_to_window(of(*thinking), 5_000)
    assert [each.answer.verbatim for each in whole.turns] == [(thought,)] * 4
    assert not any(each.answer.verbatim for each in cut.turns)


def test_reasoning_counts():
    large = {"type": "thinking", "thinking": "x" * 3_000, "signature": "s"}
    plain = turn("ok")
    thinking = replace(plain, answer=replace(plain.answer, verbatim=(large,)))
    kept = replace(plain, answer=replace(plain.answer, extra={"reasoning_content": "x" * 3_000}))
    assert tokens_of(of(thinking)) > tokens_of(of(plain)) + 1_000
    assert tokens_of(of(kept)) > tokens_of(of(plain)) + 1_000
