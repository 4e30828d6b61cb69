"""The gateway as a process, with the clients that people use."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest

from tests.fakes.scripted_model import Say, ScriptedModel, Tokens, for_ever
from tests.patience import HANG_SECONDS

TOKENS = Tokens(input=1000, output=200, cached=400)
USER = {"role": "user", "content": "hello"}


@contextmanager
def gateway(server: ScriptedModel | None, *options: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The command, as a process; it has ended when the block does."""
    command = [sys.executable, "-m", "agentbench", "gateway", *map(str, options)]
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    if server is not None:
        environ |= {"OPENAI_API_KEY": server.key, "OPENAI_BASE_URL": server.base_url}
        environ |= {"ANTHROPIC_API_KEY": server.key, "ANTHROPIC_BASE_URL": server.base_url}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> dict[str, str]:
    return json.loads(process.stdout.readline())


def ended(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, out) == (130, "")
    return err


def chat(client: openai.OpenAI, **options):
    return client.chat.completions.create(model="gpt-5", messages=[USER], **options)


def test_openais_client_works_through_it_and_the_usage_is_summed_up() -> None:
    script = for_ever(Say("good day", TOKENS))
    with (
        ScriptedModel(script) as server,
        gateway(server, "--model", "openai/gpt-5", "--json") as process,
    ):
        found = told(process)
        with openai.OpenAI(base_url=f"{found['base_url']}/v1", api_key=found["token"]) as client:
            assert chat(client).choices[0].message.content == "good day"
            assert list(chat(client, stream=True))
            assert client.responses.create(model="gpt-5", input="hi").output_text == "good day"
        result = ended(process)
    assert found["wires"] == ["openai-chat", "openai-responses"]
    assert "3 requests, 3000 tokens in (1200 cached), 600 out, 0.0084 USD" in result
    assert server.key not in result


def test_anthropics_client_works_through_it(tmp_path: Path) -> None:
    options = ("--model", "anthropic/claude-opus-4-8", "--log", tmp_path / "llm.jsonl")
    with (
        ScriptedModel(for_ever(Say("good day", TOKENS))) as server,
        gateway(server, *options) as process,
    ):
        first = process.stderr.readline()
        url, token = re.search(r"on (http://\S+), for clients with this key: (\S+)", first).groups()
        with anthropic.Anthropic(base_url=url, api_key=token) as client:
            asked = {"model": "claude-opus-4-8", "messages": [USER], "max_tokens": 9}
            assert client.messages.create(**asked).content[0].text == "good day"
            with client.messages.stream(**asked) as stream:
                assert stream.get_final_text() == "good day"
        result = ended(process, signal.SIGTERM)
    assert "2 requests, 2000 tokens in" in result
    assert len((tmp_path / "llm.jsonl").read_text().splitlines()) == 2


def test_it_stops_at_its_budget() -> None:
    dear = Tokens(input=1_000_000, output=0)
    options = ("--model", "openai/gpt-5", "--max-cost", "1", "--json")
    with ScriptedModel(for_ever(Say("hi", dear))) as server, gateway(server, *options) as process:
        found = told(process)
        with openai.OpenAI(base_url=f"{found['base_url']}/v1", api_key=found["token"]) as client:
            chat(client)
            with pytest.raises(openai.PermissionDeniedError, match="budget of 1 USD is spent"):
                chat(client)
        assert "1 request," in ended(process)


def test_answers_are_recorded_and_replayed_on_a_socket(tmp_path: Path) -> None:
    file, path = tmp_path / "answers.jsonl", tmp_path / "gateway.sock"
    result = []
    with ScriptedModel([Say("once", TOKENS)]) as server:
        record = ("--model", "openai/gpt-5", "--no-probe", "--record", file)
        replay = ("--replay", file)
        for model, options in ((server, record), (None, replay)):
            with gateway(model, *options, "--socket", path, "--json") as process:
                found = told(process)
                assert found["base_url"] == f"unix:{path}"
                way = httpx2.HTTPTransport(uds=str(path))
                with httpx2.Client(transport=way, timeout=HANG_SECONDS) as http:
                    client = openai.OpenAI(
                        base_url="http://x/v1", api_key=found["token"], http_client=http
                    )
                    result.append(chat(client).choices[0].message.content)
                summary = ended(process)
            assert not path.exists()
    assert result == ["once", "once"]
    assert "1 request, 1000 tokens in (400 cached), 200 out, 0.0000 USD" in summary
