"""The real key stays on this machine, and a door is a door of one attempt."""

import base64
import codecs
import gzip
import json
import re
import stat
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from agentbench.models.interface import ApiFormat, ModelGateway
from tests.fakes.scripted_model import Fail, Raw, Say, ScriptedModel, Tokens, for_ever
from tests.models.gateway.at_the_door import (
    ask,
    door_to,
    gateway_to,
    lines_of,
    plain_client,
    request_of,
)

CANARY = 'sk-canary-7f3a/+%&9b"c2d1e0'
SAFE = "sk-canary-7f3a9bc2d1e05566"  # as headers can bear it


def dressed(secret: str) -> dict[str, str]:
    """A secret as it may be dressed, each time within a longer text."""
    data = f"the key is {secret}!".encode()
    return {
        "plain": secret,
        "reversed": secret[::-1],
        "rot13": codecs.encode(secret, "rot13"),
        "url": quote(secret, safe=""),
        "url in small letters": re.sub("%..", lambda f: f.group().lower(), quote(secret, safe="")),
        "hex": data.hex(),
        "base64": base64.b64encode(data).decode(),
        "base64 further on": base64.b64encode(b"." + data).decode(),
        "base64 further still": base64.b64encode(b".." + data).decode(),
        "base64url": base64.urlsafe_b64encode(data).decode(),
        "base85": base64.b85encode(secret.encode()).decode(),
        "base32": base64.b32encode(secret.encode()).decode(),
        "gzip": base64.b64encode(gzip.compress(data)).decode(),
        "json": json.dumps(secret),
        "json of json": json.dumps(json.dumps(secret)),
        "json with slashes": json.dumps(secret).replace("/", "\\/"),
    }


def undressed(text: str, secret: str) -> set[str]:
    """The dresses in which the secret stands in a text."""
    inner = {name: form for name, form in dressed(secret).items() if not name.startswith("gzip")}
    found = {name for name, form in inner.items() if form in text}
    for packed in re.findall(r"H4sI[A-Za-z0-9+/=]+", text):
        if secret.encode() in gzip.decompress(base64.b64decode(packed)):
            found.add("gzip")
    return found


@pytest.mark.parametrize("stream", [False, True])
def test_the_key_is_nowhere_even_if_the_provider_shows_it(tmp_path: Path, stream: bool) -> None:
    """In the answer, in its headers, in errors, in the log, in the recording, in the findings."""
    # A stream would cut them into pieces that nobody can know again.
    texts = ["good day"] if stream else dressed(SAFE).values()
    script = [*map(Say, texts), Fail(401), Fail(500), Fail(529, after_chunks=2)]
    seen = []
    with (
        ScriptedModel(script, key=SAFE, echo_key=True) as model,
        gateway_to(model, record=tmp_path / "recording") as gateway,
        gateway.open_endpoint(budget_usd=9, log=tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        for _ in script:
            answer = ask(client, ApiFormat.ANTHROPIC_MESSAGES, stream=stream)
            said = "".join(re.findall(r'"text": "((?:[^"\\]|\\.)*)"', answer.text))
            seen += [said, answer.text, str(answer.headers)]
        facts = door.traffic()
    texts = {
        "answers": "\n".join(seen),
        "facts": repr(facts),
        "log": (tmp_path / "log").read_text(),
        "recording": (tmp_path / "recording").read_text(),
        "access": repr(gateway._access),
    }
    assert {name for name, text in texts.items() if undressed(text, SAFE)} == set()
    assert model.asked[0].headers["x-api-key"] == SAFE


def test_the_token_is_not_in_the_log_however_the_agent_dresses_it(tmp_path: Path) -> None:
    with (
        ScriptedModel(for_ever(Say("ok"))) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        for form in dressed(door.token).values():
            ask(client, ApiFormat.OPENAI_CHAT, text=form)
        client.post(f"/v1/{door.token}", json={})
    assert undressed((tmp_path / "log").read_text(), door.token) == set()


def test_a_log_holds_no_control_characters(tmp_path: Path) -> None:
    nasty = "a\x1b[2Jb\x07c\x9bd\u202ee\ud800f\x00g\u2028h"
    with (
        ScriptedModel([Raw(json.dumps({"choices": nasty}).encode())]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        path, body = request_of(ApiFormat.OPENAI_CHAT, text="x")
        body["messages"][0]["content"] = nasty
        client.post(path, content=json.dumps(body))
    data = (tmp_path / "log").read_bytes()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    assert not re.search("[\x80-\x9f\u202e\u2028\ud800-\udfff]", data.decode())
    assert json.loads(data)["request"]["messages"][0]["content"].startswith("a\x1b[2Jb\x07c\x9bd")


def test_it_is_what_a_run_wants(tmp_path: Path) -> None:
    with ScriptedModel([]) as model, gateway_to(model) as gateway:
        wanted: ModelGateway = gateway
        with wanted.open_endpoint(
            budget_usd=1, log=tmp_path / "agent" / "llm.jsonl", lane="t/1"
        ) as door:
            assert door.model == wanted.model == "gpt-5"
            assert set(door.api_formats) == set(ApiFormat)
            assert stat.S_IMODE(door.socket.stat().st_mode) == 0o666
            assert stat.S_IMODE(door.socket.parent.stat().st_mode) == 0o755
            assert stat.S_IMODE(door.socket.parent.parent.stat().st_mode) == 0o711
            assert len(str(door.socket)) < 100
            assert door.traffic().usage.cost_usd == 0.0
        assert (tmp_path / "agent" / "llm.jsonl").read_bytes() == b""


def test_tokens_are_new_each_time(tmp_path: Path) -> None:
    with ScriptedModel([]) as model, gateway_to(model) as gateway:
        tokens = set()
        for number in range(5):
            with gateway.open_endpoint(budget_usd=1, log=tmp_path / str(number)) as door:
                tokens.add(door.token)
    assert len(tokens) == 5
    assert all(len(token) > 40 for token in tokens)


def test_doors_open_and_close_in_many_threads(tmp_path: Path) -> None:
    told = []

    def attempt(gateway, number):
        with (
            gateway.open_endpoint(budget_usd=1, log=tmp_path / str(number)) as door,
            plain_client(door) as client,
        ):
            for _ in range(5):
                ask(client, ApiFormat.OPENAI_CHAT, stream=number % 2 == 0)
            told.append(door.traffic().usage)

    with (
        ScriptedModel(for_ever(Say("hi", Tokens(10, 1)))) as model,
        gateway_to(model) as gateway,
    ):
        threads = [Thread(target=attempt, args=(gateway, number)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(usage.requests, usage.input_tokens) for usage in told] == [(5, 50)] * 16
    assert [len(lines_of(tmp_path / str(number))) for number in range(16)] == [5] * 16
