"""The scripted model is understood by the providers' own clients."""

from threading import Event

import anthropic
import httpx2
import openai
import pytest

from tests.fakes.scripted_model import (
    Call,
    Cut,
    Endless,
    Fail,
    Hang,
    Raw,
    Reset,
    Say,
    ScriptedModel,
    Tokens,
    by_turn,
    for_ever,
)
from tests.patience import HANG_SECONDS

TOKENS = Tokens(input=50, output=9, cached=20, cache_written=0, reasoning=4)
ASK = [{"role": "user", "content": "hello"}]


def open_ai(model: ScriptedModel, **options) -> openai.OpenAI:
    options = {"api_key": model.key, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    return openai.OpenAI(base_url=f"{model.base_url}/v1", **options)


def anthropic_ai(model: ScriptedModel, **options) -> anthropic.Anthropic:
    options = {"api_key": model.key, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    return anthropic.Anthropic(base_url=model.base_url, **options)


def test_a_chat_completion_is_understood_by_its_client() -> None:
    script = [Say("good day", TOKENS), Call("look", {"path": "a.py"})]
    with ScriptedModel(script) as model, open_ai(model) as client:
        said = client.chat.completions.create(model="m", messages=ASK)
        called = client.chat.completions.create(model="m", messages=ASK)

    assert said.choices[0].message.content == "good day"
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (50, 9)
    (call,) = called.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("look", '{"path": "a.py"}')
    assert model.told == TOKENS + Tokens()


@pytest.mark.parametrize("asks", [True, False])
def test_a_streamed_chat_tells_tokens_only_if_asked(asks: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if asks else {}
    with ScriptedModel([Say("good day to everybody", TOKENS)]) as model, open_ai(model) as client:
        chunks = list(
            client.chat.completions.create(model="m", messages=ASK, stream=True, **options)
        )

    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "good day to everybody"
    assert [c.usage.prompt_tokens for c in chunks if c.usage] == ([50] if asks else [])
    assert model.told.input == (50 if asks else 0)


def test_responses_are_understood_by_their_client() -> None:
    script = [Say("good day", TOKENS), Call("look", {"path": "a"}), Say("streamed text", TOKENS)]
    with ScriptedModel(script) as model, open_ai(model) as client:
        said = client.responses.create(model="m", input="hello")
        called = client.responses.create(model="m", input="hello")
        with client.responses.stream(model="m", input="hello") as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()

    assert said.output_text == "good day"
    assert said.usage.input_tokens_details.cached_tokens == 20
    assert called.output[0].name == "look"
    assert final.output_text == "streamed text"
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"


def test_messages_are_understood_by_their_client() -> None:
    script = [Say("good day", TOKENS), Call("look", {"path": "a"}, text="I look", tokens=TOKENS)]
    with ScriptedModel(script) as model, anthropic_ai(model) as client:
        said = client.messages.create(model="m", messages=ASK, max_tokens=9)
        with client.messages.stream(model="m", messages=ASK, max_tokens=9) as stream:
            final = stream.get_final_message()
        counted = client.messages.count_tokens(model="m", messages=ASK)

    assert said.content[0].text == "good day"
    assert (said.usage.input_tokens, said.usage.cache_read_input_tokens) == (30, 20)
    assert [block.type for block in final.content] == ["text", "tool_use"]
    assert final.content[1].input == {"path": "a"}
    assert final.usage.output_tokens == 9
    assert counted.input_tokens == 7
    assert len(model.requests) == 3
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (Fail(429, retry_after=0), "RateLimitError"),
        (Fail(401), "AuthenticationError"),
        (Fail(404), "NotFoundError"),
        (Fail(400), "BadRequestError"),
        (Fail(500), "InternalServerError"),
    ],
)
def test_errors_are_the_providers_own(fail: Fail, error: str) -> None:
    with ScriptedModel(for_ever(fail)) as model, open_ai(model) as one, anthropic_ai(model) as two:
        with pytest.raises(getattr(openai, error)):
            one.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(getattr(anthropic, error)):
            two.messages.create(model="m", messages=ASK, max_tokens=9)


def test_a_wrong_key_and_an_unknown_model_are_refused() -> None:
    with ScriptedModel([], models=["m"]) as model:
        with open_ai(model, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model="m", messages=ASK)
        with anthropic_ai(model) as other, pytest.raises(anthropic.NotFoundError):
            other.messages.create(model="n", messages=ASK, max_tokens=9)
    assert model.asked == []


def test_a_client_retries_what_is_overloaded_and_then_is_answered() -> None:
    script = [Fail(529, retry_after=0), Say("here I am")]
    with ScriptedModel(script) as model, anthropic_ai(model, max_retries=1) as client:
        said = client.messages.create(model="m", messages=ASK, max_tokens=9)
    assert said.content[0].text == "here I am"


@pytest.mark.parametrize("ending", [Cut(), Reset(after_chunks=2), Fail(529, after_chunks=2)])
def test_a_stream_ends_badly(ending: Cut | Reset | Fail) -> None:
    with ScriptedModel([ending]) as model, anthropic_ai(model) as client:
        stream = client.messages.create(model="m", messages=ASK, max_tokens=9, stream=True)
        with pytest.raises((anthropic.APIError, httpx2.TransportError)):
            list(stream)


@pytest.mark.parametrize("silent", [Hang(), Hang(after_chunks=2)])
def test_a_client_can_give_up_what_says_no_more(silent: Hang) -> None:
    with (
        ScriptedModel([silent]) as model,
        open_ai(model, timeout=0.5) as client,
        pytest.raises((openai.APITimeoutError, httpx2.ReadTimeout)),
    ):
        list(client.chat.completions.create(model="m", messages=ASK, stream=True))


def test_a_client_can_leave_what_never_ends() -> None:
    with ScriptedModel([Endless()]) as model, open_ai(model) as client:
        response = client.chat.completions.with_streaming_response.create(
            model="m", messages=ASK, stream=True
        )
        with response as answer:
            assert next(answer.iter_bytes())


def test_a_stream_is_held_until_it_may_go_on() -> None:
    go = Event()
    with ScriptedModel([Say("one two three four", hold=go)]) as model, open_ai(model) as client:
        stream = iter(client.chat.completions.create(model="m", messages=ASK, stream=True))
        next(stream)
        next(stream)
        go.set()
        assert list(stream)


def test_a_script_by_turn_serves_conversations_that_are_mixed() -> None:
    script = by_turn([Call("look", {}), Say("done")])
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    later = [*ASK, {"role": "assistant", "content": "looked"}, *ASK]
    with ScriptedModel(script) as model, open_ai(model) as client:
        ask = client.chat.completions.create
        second = ask(model="m", messages=later, tools=tools).choices[0].message
        first = ask(model="m", messages=ASK, tools=tools).choices[0].message
        aside = ask(model="m", messages=ASK).choices[0].message
    assert (second.content, first.tool_calls[0].function.name) == ("done", "look")
    assert aside.content == "ok"


def test_raw_bytes_and_the_end_of_a_script() -> None:
    with ScriptedModel([Raw(b"<html>", 502)]) as model, open_ai(model) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.BadRequestError, match="the script is over"):
            client.chat.completions.create(model="m", messages=ASK)
