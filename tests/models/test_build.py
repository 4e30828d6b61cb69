import json

import pytest

from agentbench.models.conversation import Role
from agentbench.models.gateway.exchange_log import LoggedExchange, LoggedTokens
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelUsage
from agentbench.models.trajectory import Trajectory, TrajectoryAgent, build_trajectory

NOON = "2026-11-22T12:00:00Z"
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
    made = build_trajectory(exchanges, agent=SOMEONE, session="s", usage=usage or ModelUsage())
    assert made is not None
    return made


SYSTEM = {"role": "system", "content": "be brief"}
TASK = {"role": "user", "content": "mend it"}
CALL = says("looking", ("c1", "read", '{"path": "a.py"}'))
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1: x"}


def test_a_conversation_that_grows_is_told_once():
    made = told(
        exchange([SYSTEM, TASK], completion(CALL)),
        exchange([SYSTEM, TASK, CALL, RESULT], completion(says("done"))),
    )
    assert [(step.source, step.message) for step in made.steps] == [
        (Role.SYSTEM, "be brief"),
        (Role.USER, "mend it"),
        (Role.AGENT, "looking"),
        (Role.AGENT, "done"),
    ]
    assert [step.step_id for step in made.steps] == [1, 2, 3, 4]


def test_what_a_tool_answered_stands_with_the_step_that_asked_for_it():
    made = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    step = made.steps[1]
    assert step.tool_calls is not None
    assert step.observation is not None
    assert step.tool_calls[0].arguments == {"path": "a.py"}
    assert [(r.source_call_id, r.content) for r in step.observation.results] == [("c1", "1: x")]


def test_an_agent_that_drops_old_output_repeats_nothing():
    dropped = {**RESULT, "content": "[left out]"}
    second = says("", ("c2", "edit", "{}"))
    made = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(second)),
        exchange(
            [TASK, CALL, dropped, second, {"role": "tool", "tool_call_id": "c2", "content": "ok"}],
            completion(says("done")),
        ),
    )
    contents = [r.content for s in made.steps if s.observation for r in s.observation.results]
    assert contents == ["1: x", "ok"]


def test_a_request_that_is_made_again_after_a_failure_is_told_once_with_the_failure():
    failure = {"error": ModelErrorKind.RATE_LIMIT, "status": 429, "message": "slow down"}
    made = told(
        exchange([TASK], "", **failure),
        exchange([TASK], completion(says("done"))),
    )
    assert [step.source for step in made.steps] == [
        Role.USER,
        Role.SYSTEM,
        Role.AGENT,
    ]
    assert made.steps[1].extra == {"model_error": "rate_limit"}
    assert "HTTP 429: slow down" in made.steps[1].message


def test_a_user_may_say_the_same_twice():
    go_on = {"role": "user", "content": "go on"}
    made = told(
        exchange([go_on], completion(says("a"))),
        exchange([go_on, says("a"), go_on], completion(says("b"))),
    )
    assert [step.message for step in made.steps] == ["go on", "a", "go on", "b"]


def test_calls_that_bear_the_same_id_are_answered_in_turn():
    ask = {"functionCall": {"name": "read", "args": {}}}
    answer = {"functionResponse": {"name": "read", "response": {"output": "one"}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [ask]},
        {"role": "user", "parts": [answer]},
    ]
    made = told(
        *(
            LoggedExchange(
                line=1,
                path="/",
                time=NOON,
                wire=ApiFormat.GEMINI_GENERATE,
                model="m",
                request={"contents": contents[:shown]},
                answer=json.dumps({"candidates": [{"content": {"parts": [ask]}}]}),
            )
            for shown in (1, 3)
        )
    )
    observed = [step.observation for step in made.steps if step.source is Role.AGENT]
    assert observed[0] is not None
    assert observed[1] is None


def test_the_model_of_a_step_is_named_where_it_is_another():
    made = told(exchange([TASK], completion(says("a")), model="small"))
    assert made.steps[1].model_name == "small"
    assert told(exchange([TASK], completion(says("a")))).steps[1].model_name is None


def test_tokens_are_on_the_step_and_their_sum_at_the_end():
    made = told(
        exchange([TASK], completion(says("a"))),
        usage=ModelUsage(
            requests=1, input_tokens=9, output_tokens=2, cached_tokens=1, cost_usd=0.5
        ),
    )
    assert made.steps[1].metrics is not None
    assert made.steps[1].metrics.prompt_tokens == 5
    sums = made.final_metrics
    assert (sums.total_prompt_tokens, sums.total_completion_tokens, sums.total_cost_usd) == (
        9,
        2,
        0.5,
    )


def test_where_nothing_was_said_there_is_no_trajectory():
    assert build_trajectory([], agent=SOMEONE, session="s", usage=ModelUsage()) is None


@pytest.mark.parametrize(
    "answer",
    ["", "not json", "[1]", '{"choices": 3}', '{"choices": [7, {"message": 4}]}', "data: x"],
)
def test_whatever_an_answer_is_the_trajectory_can_be_written_and_read(answer):
    made = told(exchange([TASK, 7, {"role": 3, "content": [1, {"text": "\ud800"}]}], answer))
    assert Trajectory.model_validate_json(made.model_dump_json(exclude_none=True)) == made
