import json
import urllib.request

import anthropic
import openai
import pytest

from agentbench.agents.preset import ScriptedReply
from agentbench.extensions.dry_run.scripted_model import (
    ScriptedAnswer,
    ScriptedModel,
    answer_body,
    answer_stream,
    serve_scripted_model,
    write_dry_run_task,
)
from agentbench.models.interface import ApiFormat
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors


def test_dry_run_task_loads_and_its_solution_applies(tmp_path):
    mirrors = Mirrors(tmp_path / "mirrors")
    (task,) = load_tasks([write_dry_run_task(tmp_path / "task")], mirrors=mirrors).tasks
    assert task.id == "dry-run"
    assert b"+    return a + b" in task.answer_key.solution_patch
    assert task.answer_key.fail_to_pass == ("test_calc.py::test_two_numbers_are_added",)


WORDS = ScriptedAnswer(number=1, model="m", arguments={}, say="what is said")
CALL = ScriptedAnswer(number=2, model="m", tool="edit", arguments={"path": "a.py"})


@pytest.mark.parametrize("wire", ApiFormat)
@pytest.mark.parametrize("answer", [WORDS, CALL])
def test_streamed_answer_equals_whole_answer(wire, answer):
    reported = answer.say or "a.py"
    assert reported in json.dumps(answer_body(wire, answer))
    assert reported.encode() in answer_stream(wire, answer)


@pytest.mark.parametrize("wire", ApiFormat)
def test_every_event_of_a_stream_is_json(wire):
    lines = answer_stream(wire, CALL).decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert [json.loads(each) for each in data if each != "[DONE]"]


SCRIPT = (
    ScriptedReply(tool="edit", arguments={"path": "{workspace}/calc.py", "all": True}),
    ScriptedReply(say="done"),
)
ARGUMENTS = {"path": "/elsewhere/calc.py", "all": True}
SCHEMA = {"type": "object", "properties": {}}


@pytest.fixture
def prompter():
    created = ScriptedModel(SCRIPT)
    created.workspace = "/elsewhere"
    return created


@pytest.fixture
def url(prompter):
    with serve_scripted_model(prompter) as address:
        yield address


@pytest.fixture
def chat(url):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(url):
    with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        yield client


def test_chat_completions(chat, prompter):
    tools = [{"type": "function", "function": {"name": "edit", "parameters": SCHEMA}}]
    asked = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools}
    first = chat.chat.completions.create(**asked)
    (call,) = first.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("edit", ARGUMENTS)
    assert chat.chat.completions.create(**asked).choices[0].message.content == "done"
    assert (prompter.input_tokens, prompter.output_tokens) == (200, 20)


def test_streamed_chat_completions(chat):
    tools = [{"type": "function", "function": {"name": "edit", "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": "x"}]
    with chat.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
        done = stream.get_final_completion()
    (call,) = done.choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == ARGUMENTS
    assert done.choices[0].finish_reason == "tool_calls"
    assert done.usage.total_tokens == 110


@pytest.mark.parametrize("streamed", [False, True])
def test_responses(chat, streamed):
    tools = [{"type": "function", "name": "edit", "parameters": SCHEMA}]
    if streamed:
        events = list(chat.responses.create(model="m", input="x", tools=tools, stream=True))
        done = events[-1].response
    else:
        done = chat.responses.create(model="m", input="x", tools=tools)
    (item,) = done.output
    assert (item.name, json.loads(item.arguments)) == ("edit", ARGUMENTS)
    assert done.usage.total_tokens == 110
    assert chat.responses.create(model="m", input="x", tools=tools).output_text == "done"


@pytest.mark.parametrize("streamed", [False, True])
def test_messages(claude, streamed):
    tools = [{"name": "edit", "input_schema": SCHEMA}]
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    if streamed:
        with claude.messages.stream(**asked, tools=tools) as stream:
            done = stream.get_final_message()
    else:
        done = claude.messages.create(**asked, tools=tools)
    (block,) = done.content
    assert (block.name, block.input) == ("edit", ARGUMENTS)
    assert (done.stop_reason, done.usage.output_tokens) == ("tool_use", 10)
    assert claude.messages.create(**asked, tools=tools).content[0].text == "done"
    assert claude.messages.count_tokens(model="m", messages=asked["messages"]).input_tokens


@pytest.mark.parametrize("action", ["generateContent", "streamGenerateContent?alt=sse"])
def test_generate_content(url, action):
    body = json.dumps({"contents": [], "tools": [{"functionDeclarations": []}]}).encode()
    with urllib.request.urlopen(f"{url}/v1beta/models/m:{action}", body) as answer:
        text = answer.read().decode().removeprefix("data: ")
    done = json.loads(text)
    (part,) = done["candidates"][0]["content"]["parts"]
    assert part["functionCall"] == {"name": "edit", "args": ARGUMENTS}
    assert done["modelVersion"] == "m"


def test_request_without_tools_uses_no_line_of_script(chat, prompter):
    asked = {"model": "m", "messages": [{"role": "user", "content": "a title?"}]}
    for _ in range(3):
        assert chat.chat.completions.create(**asked).choices[0].message.content == "ok"
    assert prompter.answered == 3


def test_script_of_texts_needs_no_tools():
    with (
        serve_scripted_model(
            ScriptedModel([ScriptedReply(say="a"), ScriptedReply(say="b")])
        ) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="any") as client,
    ):
        asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        reported = [client.chat.completions.create(**asked) for _ in range(3)]
    assert [each.choices[0].message.content for each in reported] == ["a", "b", "b"]


@pytest.mark.parametrize("wire", ["chat", "responses", "messages", "gemini"])
def test_refused_key_has_error_of_each_format(wire):
    with serve_scripted_model(ScriptedModel(SCRIPT, refuses=True)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
        claude = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
        messages = [{"role": "user", "content": "x"}]
        with client, claude:
            if wire == "chat":
                with pytest.raises(openai.AuthenticationError, match="refuses every key"):
                    client.chat.completions.create(model="m", messages=messages)
            elif wire == "responses":
                with pytest.raises(openai.AuthenticationError):
                    client.responses.create(model="m", input="x")
            elif wire == "messages":
                with pytest.raises(anthropic.AuthenticationError):
                    claude.messages.create(model="m", max_tokens=9, messages=messages)
            else:
                with pytest.raises(urllib.error.HTTPError, match="401"):
                    urllib.request.urlopen(f"{url}/v1beta/models/m:generateContent", b"{}")


def test_unknown_path_is_404(chat):
    with pytest.raises(openai.NotFoundError):
        chat.embeddings.create(model="m", input="x")
