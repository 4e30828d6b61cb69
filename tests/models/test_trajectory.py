import json

import jsonschema
import pytest
from httpx2 import Client
from pydantic import ValidationError

from agentbench.models.conversation import Role
from agentbench.models.gateway.exchange_log import LoggedExchange
from agentbench.models.interface import ApiFormat
from agentbench.models.trajectory import Step, Trajectory, answer_message, request_messages
from tests.fakes.scripted_model import Call, Calls, Say, ScriptedModel
from tests.models.test_build import CALL, RESULT, TASK, completion, exchange, says, told

# What ATIF 1.8 demands beyond the shape of each object.
AGENT_ONLY = ("model_name", "reasoning_content", "tool_calls", "metrics", "llm_call_count")


def written():
    made = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    return json.loads(made.model_dump_json(exclude_none=True))


def test_what_is_written_fits_the_schema():
    jsonschema.validate(written(), Trajectory.model_json_schema())


def test_only_an_agents_step_bears_what_only_an_agent_has():
    for step in written()["steps"]:
        if step["source"] != "agent":
            assert not set(AGENT_ONLY) & set(step)


def test_an_observation_answers_a_call_of_its_own_step():
    for step in written()["steps"]:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        results = step.get("observation", {"results": ()})["results"]
        assert {result["source_call_id"] for result in results} <= calls


def test_steps_count_from_one():
    with pytest.raises(ValidationError, match="step_id"):
        Step(step_id=0, source="user", message="")


PATHS = {
    ApiFormat.OPENAI_CHAT: ("/v1/chat/completions", "/v1/chat/completions"),
    ApiFormat.OPENAI_RESPONSES: ("/v1/responses", "/v1/responses"),
    ApiFormat.ANTHROPIC_MESSAGES: ("/v1/messages", "/v1/messages"),
    ApiFormat.GEMINI_GENERATE: (
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
    ),
}
REQUESTS = {
    ApiFormat.OPENAI_CHAT: {
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "mend it"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1: x"},
        ]
    },
    ApiFormat.OPENAI_RESPONSES: {
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "mend it"}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "1: x"},
        ],
    },
    ApiFormat.ANTHROPIC_MESSAGES: {
        "system": [{"type": "text", "text": "be brief"}],
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "mend it"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "1: x"}],
            },
        ],
    },
    ApiFormat.GEMINI_GENERATE: {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "mend it"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look"}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": "1: x"}}],
            },
        ],
    },
}

NOON = "2026-11-22T12:00:00Z"


def sent(model, wire, *, streamed):
    whole, stream = PATHS[wire]
    body = {"model": "m", "stream": streamed, **REQUESTS[wire]}
    names = ("authorization", "x-api-key", "x-goog-api-key")
    headers = dict(zip(names, (f"Bearer {model.key}", model.key, model.key), strict=True))
    with Client(base_url=model.base_url, headers=headers) as client:
        reply = client.post(stream if streamed else whole, json=body)
    reply.raise_for_status()
    return LoggedExchange(
        line=1, path="/", time=NOON, wire=wire, model="m", request=body, answer=reply.text
    )


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_an_answer_says_the_same_on_every_wire(wire, streamed):
    script = [
        Calls([Call("look", {"path": "a.py", "n": [1, "\u00e4"]}), Call("list", {})], text="I see"),
        Say("good day to everybody"),
    ]
    with ScriptedModel(script) as model:
        called = answer_message(sent(model, wire, streamed=streamed))
        spoken = answer_message(sent(model, wire, streamed=streamed))
    assert called.text == "I see"
    assert [(call.name, call.arguments) for call in called.calls] == [
        ("look", {"path": "a.py", "n": [1, "\u00e4"]}),
        ("list", {}),
    ]
    assert all(call.id for call in called.calls)
    assert (spoken.speaker, spoken.text, spoken.calls) == (
        Role.AGENT,
        "good day to everybody",
        (),
    )


@pytest.mark.parametrize("wire", list(ApiFormat))
def test_a_request_says_the_same_on_every_wire(wire):
    system, user, agent, tool = request_messages(
        LoggedExchange(line=1, path="/", time=NOON, wire=wire, model="m", request=REQUESTS[wire])
    )
    assert (system.speaker, system.text) == (Role.SYSTEM, "be brief")
    assert (user.speaker, user.text) == (Role.USER, "mend it")
    assert [(call.id, call.name, call.arguments) for call in agent.calls] == [("c1", "look", {})]
    assert [(result.call_id, result.text) for result in tool.results] == [("c1", "1: x")]


def test_arguments_that_are_no_json_are_kept_as_they_were():
    call = {"id": "c", "function": {"name": "look", "arguments": '{"path": '}}
    answer = json.dumps({"choices": [{"message": {"tool_calls": [call]}}]})
    exchange = LoggedExchange(
        line=1,
        path="/",
        time=NOON,
        wire=ApiFormat.OPENAI_CHAT,
        model="m",
        request={},
        answer=answer,
    )
    assert answer_message(exchange).calls[0].arguments == {"_unparsed": '{"path": '}
