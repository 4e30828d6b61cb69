import pytest

from agentbench.core.untrusted_json import TEXT_LIMIT
from agentbench.extensions.export.chat import chat_messages
from agentbench.extensions.export.conversation import chat_tools, conversations_in
from agentbench.models.conversation import Role
from agentbench.models.interface import ApiFormat
from tests.models.test_build import CALL, RESULT, SYSTEM, TASK, completion, exchange, says

FUNCTION = {
    "name": "look",
    "description": "Shows a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
DONE = says("done")
WIRES = {
    "chat": {"tools": [{"type": "function", "function": FUNCTION}]},
    "responses": {"tools": [{"type": "function", **FUNCTION}, {"type": "web_search"}]},
    "anthropic": {
        "tools": [
            {
                "name": "look",
                "description": "Shows a file.",
                "input_schema": FUNCTION["parameters"],
            }
        ]
    },
    "gemini": {"tools": [{"functionDeclarations": [FUNCTION]}]},
}


def texts(found):
    return [
        (message.speaker.value, message.text or [result.text for result in message.results])
        for message in found.main.messages
    ]


def test_requests_that_repeat_their_conversation_are_one():
    found = conversations_in(
        [
            exchange([SYSTEM, TASK], completion(CALL)),
            exchange([SYSTEM, TASK, CALL, RESULT], completion(DONE)),
        ]
    )
    assert (found.number, found.is_complete, found.main.answers) == (1, True, 2)
    assert texts(found) == [
        ("system", "be brief"),
        ("user", "mend it"),
        ("agent", "looking"),
        ("user", ["1: x"]),
        ("agent", "done"),
    ]


def test_an_answer_that_the_client_dropped_is_not_in_it():
    other = says("I would rather not")
    found = conversations_in(
        [
            exchange([TASK], completion(CALL)),
            exchange([TASK, CALL, RESULT], completion(other)),
            exchange([TASK, CALL, RESULT], completion(DONE)),
        ]
    )
    assert (found.number, texts(found)[-1]) == (1, ("agent", "done"))
    assert "rather" not in str(texts(found))


def test_a_first_request_that_is_repeated_begins_again():
    found = conversations_in(
        [exchange([TASK], completion(says("no"))), exchange([TASK], completion(DONE))]
    )
    assert texts(found) == [("user", "mend it"), ("agent", "done")]


def test_a_sub_agent_has_a_conversation_of_its_own():
    ask = {"role": "user", "content": "find the bug"}
    found = conversations_in(
        [
            exchange([TASK], completion(CALL)),
            exchange([ask], completion(says("it is in a.py"))),
            exchange([TASK, CALL, RESULT], completion(DONE)),
        ]
    )
    assert (found.number, found.main.answers) == (2, 2)
    assert "find the bug" not in str(texts(found))


def test_a_shortened_request_continues_its_conversation():
    second = says("and now", ("c2", "read", '{"path": "b.py"}'))
    result = {"role": "tool", "tool_call_id": "c2", "content": "2: y"}
    found = conversations_in(
        [
            exchange([TASK], completion(CALL)),
            exchange([TASK, CALL, RESULT], completion(second)),
            exchange([TASK, second, result], completion(DONE)),
        ]
    )
    assert [text for _, text in texts(found)] == [
        "mend it", "looking", ["1: x"], "and now", ["2: y"], "done",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"error": "timeout"}, {"abandoned": True}], ids=["failed", "left"]
)
def test_a_request_without_a_whole_answer_says_nothing(change):
    found = conversations_in(
        [
            exchange([TASK], completion(CALL)),
            exchange([TASK, CALL, RESULT], completion(says("half")), **change),
        ]
    )
    assert (texts(found)[-1], found.is_complete) == (("agent", "looking"), True)


@pytest.mark.parametrize(
    "lossy",
    [
        exchange([TASK, CALL, RESULT], ""),
        exchange([TASK, CALL, RESULT], completion(DONE), answer_left_out=9),
        exchange([TASK, CALL, RESULT], completion(DONE), request_cut="[1, 2"),
        exchange([TASK, CALL, {**RESULT, "content": "x" * (TEXT_LIMIT + 1)}], completion(DONE)),
    ],
    ids=["no answer", "answer", "request", "one text"],
)
def test_a_text_that_the_log_lacks_makes_it_incomplete(lossy):
    assert not conversations_in([exchange([TASK], completion(CALL)), lossy]).is_complete


def test_a_log_without_answers_has_none():
    found = conversations_in([exchange([TASK], completion(DONE), error="auth")])
    assert (found.main, found.number) == (None, 0)


SECOND_REQUESTS = {
    ApiFormat.OPENAI_RESPONSES: (
        {"input": [{"role": "user", "content": "mend it"}]},
        [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{}"},
        ],
        [
            {"type": "function_call_output", "call_id": "c1", "output": "1: x"},
            {"type": "function_call_output", "call_id": "c2", "output": "a.py"},
        ],
    ),
    ApiFormat.ANTHROPIC_MESSAGES: (
        {"messages": [{"role": "user", "content": "mend it"}]},
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
                ],
            }
        ],
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "1: x"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "a.py"},
                ],
            }
        ],
    ),
}


@pytest.mark.parametrize("wire", SECOND_REQUESTS)
def test_the_chat_of_another_wire_has_one_message_per_answer(wire):
    first, answered, results = SECOND_REQUESTS[wire]
    ((name, turns),) = first.items()
    is_anthropic = wire is ApiFormat.ANTHROPIC_MESSAGES
    first_answer = answered[0] if is_anthropic else {"output": answered}
    item = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "done"}]}
    last_answer = item if is_anthropic else {"output": [item]}
    found = conversations_in(
        [
            exchange([], first_answer, wire=wire).replace(request=first),
            exchange([], last_answer, wire=wire).replace(
                request={name: [*turns, *answered, *results]}
            ),
        ]
    )
    messages = chat_messages(found.main.messages)
    assert [message.role for message in messages] == [
        "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    assert [call.id for call in messages[1].tool_calls] == ["c1", "c2"]
    assert messages[1].reasoning_content == "hm"
    assert [message.tool_call_id for message in messages[2:4]] == ["c1", "c2"]
    assert messages[-1].content == "done"


@pytest.mark.parametrize("wire", WIRES)
def test_tools_of_every_wire_are_functions(wire):
    assert list(chat_tools(WIRES[wire])) == [{"type": "function", "function": FUNCTION}]


def test_the_agents_answers_end_a_conversation():
    found = conversations_in([exchange([TASK], completion(DONE))])
    assert found.main.messages[-1].speaker is Role.AGENT
