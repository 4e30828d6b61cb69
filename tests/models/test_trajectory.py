import json

import jsonschema
import pytest
from httpx2 import Client

from agentbench.models.conversation import Role
from agentbench.models.gateway.exchange_log import LoggedExchange, LoggedTokens
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelUsage
from agentbench.models.trajectory import (
    Trajectory,
    TrajectoryAgent,
    answer_message,
    build_trajectory,
    request_messages,
)
from tests.fakes.scripted_model import Call, Calls, Say, ScriptedModel

# What ATIF 1.8 demands beyond the shape of each object.
AGENT_ONLY = ("model_name", "reasoning_content", "tool_calls", "metrics", "llm_call_count")


def written():
    created = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    return json.loads(created.model_dump_json(exclude_none=True))


def test_trajectory_fits_the_schema():
    jsonschema.validate(written(), Trajectory.model_json_schema())


def test_agent_fields_only_in_agent_steps():
    for step in written()["steps"]:
        if step["source"] != "agent":
            assert not set(AGENT_ONLY) & set(step)


def test_an_observation_answers_a_call_of_its_own_step():
    for step in written()["steps"]:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        results = step.get("observation", {"results": ()})["results"]
        assert {result["source_call_id"] for result in results} <= calls


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
def test_answer_is_equal_in_every_format(wire, streamed):
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
def test_request_is_equal_in_every_format(wire):
    system, user, agent, tool = request_messages(
        LoggedExchange(line=1, path="/", time=NOON, wire=wire, model="m", request=REQUESTS[wire])
    )
    assert (system.speaker, system.text) == (Role.SYSTEM, "be brief")
    assert (user.speaker, user.text) == (Role.USER, "mend it")
    assert [(call.id, call.name, call.arguments) for call in agent.calls] == [("c1", "look", {})]
    assert [(result.call_id, result.text) for result in tool.results] == [("c1", "1: x")]


def test_malformed_arguments_are_kept():
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


SOMEONE = TrajectoryAgent(name="someone", version="1", model_name="m")


def exchange(messages, answer, **changes):
    given = {
        "wire": ApiFormat.OPENAI_CHAT,
        "model": "m",
        "tokens": LoggedTokens(input=5, output=0, cached=0, cache_written=0),
    }
    body = answer if isinstance(answer, str) else json.dumps(answer)
    return LoggedExchange(
        line=1,
        path="/",
        time=NOON,
        request={"messages": messages},
        answer=body,
        **(given | changes),
    )


def says(text="", *calls):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": given}}
            for id_, name, given in calls
        ]
    return message


def completion(message):
    return {"choices": [{"index": 0, "message": message}]}


def told(*exchanges, usage=None):
    created = build_trajectory(exchanges, agent=SOMEONE, session="s", usage=usage or ModelUsage())
    assert created is not None
    return created


SYSTEM = {"role": "system", "content": "be brief"}
TASK = {"role": "user", "content": "mend it"}
CALL = says("looking", ("c1", "read", '{"path": "a.py"}'))
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1: x"}


def test_growing_conversation_gives_each_step_once():
    created = told(
        exchange([SYSTEM, TASK], completion(CALL)),
        exchange([SYSTEM, TASK, CALL, RESULT], completion(says("done"))),
    )
    assert [(step.source, step.message) for step in created.steps] == [
        (Role.SYSTEM, "be brief"),
        (Role.USER, "mend it"),
        (Role.AGENT, "looking"),
        (Role.AGENT, "done"),
    ]
    assert [step.step_id for step in created.steps] == [1, 2, 3, 4]


def test_tool_result_belongs_to_calling_step():
    created = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    step = created.steps[1]
    assert step.tool_calls is not None
    assert step.observation is not None
    assert step.tool_calls[0].arguments == {"path": "a.py"}
    assert [(r.source_call_id, r.content) for r in step.observation.results] == [("c1", "1: x")]


def test_shortened_history_repeats_no_step():
    dropped = {**RESULT, "content": "[left out]"}
    second = says("", ("c2", "edit", "{}"))
    created = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(second)),
        exchange(
            [TASK, CALL, dropped, second, {"role": "tool", "tool_call_id": "c2", "content": "ok"}],
            completion(says("done")),
        ),
    )
    contents = [r.content for s in created.steps if s.observation for r in s.observation.results]
    assert contents == ["1: x", "ok"]


def test_retried_request_gives_one_step():
    failure = {"error": ModelErrorKind.RATE_LIMIT, "status": 429, "message": "slow down"}
    created = told(
        exchange([TASK], "", **failure),
        exchange([TASK], completion(says("done"))),
    )
    assert [step.source for step in created.steps] == [
        Role.USER,
        Role.SYSTEM,
        Role.AGENT,
    ]
    assert created.steps[1].extra == {"model_error": "rate_limit"}
    assert "HTTP 429: slow down" in created.steps[1].message


def test_equal_user_messages_are_kept():
    go_on = {"role": "user", "content": "go on"}
    created = told(
        exchange([go_on], completion(says("a"))),
        exchange([go_on, says("a"), go_on], completion(says("b"))),
    )
    assert [step.message for step in created.steps] == ["go on", "a", "go on", "b"]


def test_calls_with_equal_ids_are_answered_in_order():
    ask = {"functionCall": {"name": "read", "args": {}}}
    answer = {"functionResponse": {"name": "read", "response": {"output": "one"}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [ask]},
        {"role": "user", "parts": [answer]},
    ]
    created = told(
        *(
            LoggedExchange(
                line=1,
                path="/",
                time=NOON,
                wire=ApiFormat.GEMINI_GENERATE,
                model="m",
                request={"contents": contents[:printed]},
                answer=json.dumps({"candidates": [{"content": {"parts": [ask]}}]}),
            )
            for printed in (1, 3)
        )
    )
    observed = [step.observation for step in created.steps if step.source is Role.AGENT]
    assert observed[0] is not None
    assert observed[1] is None


def test_step_names_a_different_model():
    created = told(exchange([TASK], completion(says("a")), model="small"))
    assert created.steps[1].model_name == "small"
    assert told(exchange([TASK], completion(says("a")))).steps[1].model_name is None


def test_tokens_are_on_the_step_and_their_sum_at_the_end():
    created = told(
        exchange([TASK], completion(says("a"))),
        usage=ModelUsage(
            requests=1, input_tokens=9, output_tokens=2, cached_tokens=1, cost_usd=0.5
        ),
    )
    assert created.steps[1].metrics is not None
    assert created.steps[1].metrics.prompt_tokens == 5
    sums = created.final_metrics
    assert (sums.total_prompt_tokens, sums.total_completion_tokens, sums.total_cost_usd) == (
        9,
        2,
        0.5,
    )


def test_no_exchange_gives_no_trajectory():
    assert build_trajectory([], agent=SOMEONE, session="s", usage=ModelUsage()) is None


@pytest.mark.parametrize(
    "answer",
    ["", "not json", "[1]", '{"choices": 3}', '{"choices": [7, {"message": 4}]}', "data: x"],
)
def test_any_answer_gives_a_valid_trajectory(answer):
    created = told(exchange([TASK, 7, {"role": 3, "content": [1, {"text": "\ud800"}]}], answer))
    assert Trajectory.model_validate_json(created.model_dump_json(exclude_none=True)) == created
