import asyncio
import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from agentbench.errors import InputError
from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.recording import (
    RecordedAnswer,
    Recording,
    RecordingFile,
    RecordingHead,
    ReplayedUpstream,
    read_recording,
    request_digest,
)
from agentbench.models.gateway.upstream import ProviderRequest, UpstreamError
from agentbench.models.interface import ApiFormat, ModelErrorKind
from tests.fakes.scripted_model import Cut, Raw, Reset, Say, ScriptedModel
from tests.models.gateway.endpoint_clients import ask, gateway_to, plain_client


def digest(
    content: object, *, model: str = "m", wire: ApiFormat = ApiFormat.OPENAI_CHAT, **more: object
):
    request = {"messages": [{"role": "user", "content": content}], **more}
    return request_digest(
        ProviderRequest(route=ApiRoute(api_format=wire), model=model, request=request, body=b"")
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-01-02T03:04:05.678Z", "at 2026-11-22T13:14:15.000Z"),
        ("today is 2026-01-02", "today is 2027-03-04"),
        ("1 passed in 0.03s", "1 passed in 12.5s"),
        ("see /tmp/abc123/x.py", "see /tmp/zzz/y"),
        ("call_abc123 said", "call_zzz999 said"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-0000-0000-000000000000"),
        ("<object at 0x7f00aa>", "<object at 0x7fffff>"),
        ("http://127.0.0.1:4000/v1", "http://127.0.0.1:51234/v1"),
        ("commit 0123456789abcdef", "commit fedcba9876543210aa"),
    ],
)
def test_digest_ignores_volatile_parts(one: str, other: str) -> None:
    assert digest(one) == digest(other)


def test_digest_ignores_session_fields() -> None:
    assert digest("a", metadata={"user_id": "x"}, prompt_cache_key="1") == digest("a")


def test_digest_depends_on_text_model_format_and_options() -> None:
    different = [
        digest("a"),
        digest("b"),
        digest("a", model="n"),
        digest("a", wire=ApiFormat.ANTHROPIC_MESSAGES),
        digest("a", stream=True),
        digest("a", tools=[{"name": "look"}]),
        digest("line 12 of 40"),
        digest("line 13 of 40"),
    ]
    assert len({each.words for each in different}) == len(different)


def test_outline_ignores_text() -> None:
    assert digest("a").outline == digest("b").outline
    assert digest("a", tools=[1]).outline != digest("a", tools=[1, 2]).outline
    assert digest("a", stream=True).outline != digest("a").outline


def test_digest_ignores_order_of_fields() -> None:
    assert digest("a", x=1, y=2) == digest("a", y=2, x=1)


def answer(**more) -> RecordedAnswer:
    fields = {
        "lane": "t/1",
        "words": "w",
        "outline": "o",
        "wire": ApiFormat.OPENAI_CHAT,
        "status": 200,
    }
    return RecordedAnswer(**{**fields, **more})


def test_recording_has_exact_chunks(tmp_path: Path) -> None:
    file = tmp_path / "r"
    script = [Say("good day"), Raw(b"\xff\x00bytes"), Cut(), Reset()]
    with (
        ScriptedModel(script) as model,
        gateway_to(model, record=file) as gateway,
        gateway.open_endpoint(budget_usd=1, log=tmp_path / "log", lane="t/1") as endpoint,
        plain_client(endpoint) as client,
    ):
        for _ in script:
            last = ask(client, ApiFormat.OPENAI_RESPONSES)
    stored = read_recording(file)
    assert (stored.head.model, set(stored.head.wires)) == ("gpt-5", set(ApiFormat))
    whole, raw, cut, reset = stored.answers
    assert {each.lane for each in stored.answers} == {"t/1"}
    assert (whole.status, whole.failure) == (200, None)
    assert json.loads(b"".join(whole.data()))["output"]
    assert raw.data() == [b"\xff\x00bytes"]
    assert (cut.status, cut.failure) == (200, ModelErrorKind.CUT_STREAM)
    assert (reset.status, reset.failure) == (None, ModelErrorKind.CONNECTION)
    assert last.status_code == 502


def test_recording_is_continued_by_many_threads(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r"
    for _ in range(2):
        file = RecordingFile(path, model="m", wires=tuple(ApiFormat))
        threads = [Thread(target=add_many, args=(file,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        file.close()
    assert len(read_recording(path).answers) == 320


def add_many(file: RecordingFile) -> None:
    for _ in range(20):
        file.add(answer(chunks=("x" * 5000,)))


def test_recording_of_another_model_is_refused(tmp_path: Path) -> None:
    RecordingFile(tmp_path / "r", model="m", wires=tuple(ApiFormat)).close()
    with pytest.raises(InputError, match="is a recording of m, not of n"):
        RecordingFile(tmp_path / "r", model="n", wires=tuple(ApiFormat))


def test_truncated_last_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "r"
    file = RecordingFile(path, model="m", wires=tuple(ApiFormat))
    file.add(answer())
    file.close()
    whole = path.read_text()
    path.write_text(whole + '{"lane": "t')
    assert len(read_recording(path).answers) == 1
    path.write_text(whole + "torn\n" + whole.splitlines()[1] + "\n")
    with pytest.raises(InputError, match=r"r:3: is not a recorded answer"):
        read_recording(path)


@pytest.mark.parametrize("text", ["", "{}", '{"agentbench_recording": 2}', "\x00"])
def test_other_file_is_no_recording(tmp_path: Path, text: str) -> None:
    (tmp_path / "r").write_text(text)
    with pytest.raises(InputError, match="not a recording"):
        read_recording(tmp_path / "r")


def test_replay_has_exact_bytes() -> None:
    data = bytes(range(256))
    coded = answer(chunks=(base64.b64encode(data).decode(),), in_base64=True)
    assert coded.data() == [data]
    assert answer(chunks=("é", "")).data() == ["é".encode(), b""]


def call(
    text: str, lane: str = "t/1", wire: ApiFormat = ApiFormat.OPENAI_CHAT, **more
) -> ProviderRequest:
    request = {"messages": [{"role": "user", "content": text}], **more}
    return ProviderRequest(
        route=ApiRoute(api_format=wire), model="m", request=request, body=b"", lane=lane
    )


def recorded(asked: ProviderRequest, result: str, **more) -> RecordedAnswer:
    digest = request_digest(asked)
    fields = {"status": 200, "chunks": (result[:1], result[1:])}
    return RecordedAnswer(
        lane=asked.lane,
        words=digest.words,
        outline=digest.outline,
        wire=asked.route.api_format,
        **{**fields, **more},
    )


def replayed(*answers: RecordedAnswer) -> ReplayedUpstream:
    head = RecordingHead(model="m", wires=tuple(ApiFormat), started=datetime.now(UTC))
    return ReplayedUpstream(Recording(head=head, answers=answers))


def said_to(upstream: ReplayedUpstream, asked: ProviderRequest) -> str:
    async def ask() -> str:
        async with upstream.send(asked) as answer:
            return "|".join([chunk.decode() async for chunk in answer.chunks])

    return asyncio.run(ask())


def test_equal_requests_get_their_answer_in_any_order() -> None:
    asked = [call(text) for text in "abc"]
    upstream = replayed(*(recorded(each, f"-{n}") for n, each in enumerate(asked)))
    assert [said_to(upstream, asked[at]) for at in (2, 0, 1)] == ["-|2", "-|0", "-|1"]


def test_repeated_request_gets_the_next_answer() -> None:
    upstream = replayed(recorded(call("a"), "-1"), recorded(call("a"), "-2"))
    assert [said_to(upstream, call("a")) for _ in range(2)] == ["-|1", "-|2"]


def test_other_text_gets_next_answer_of_outline_or_format() -> None:
    title = recorded(call("title", tools=[]), "-title")
    turn = recorded(call("turn", tools=[1, 2]), "-turn")
    upstream = replayed(title, turn, recorded(call("x", wire=ApiFormat.OPENAI_RESPONSES), "-other"))
    assert said_to(upstream, call("changed", tools=[1, 2])) == "-|turn"
    assert said_to(upstream, call("changed", tools=[1, 2, 3])) == "-|title"
    assert said_to(upstream, call("y", wire=ApiFormat.OPENAI_RESPONSES)) == "-|other"


def test_attempt_gets_only_its_own_answers() -> None:
    upstream = replayed(recorded(call("a", lane="t/1"), "-1"))
    for _ in range(2):
        with pytest.raises(UpstreamError, match="not in the recording") as fault:
            said_to(upstream, call("a", lane="t/2"))
        assert fault.value.failure.kind is ModelErrorKind.CONNECTION
    assert said_to(upstream, call("a")) == "-|1"
    with pytest.raises(UpstreamError):
        said_to(upstream, call("a"))


def test_recorded_failure_is_replayed() -> None:
    cut = recorded(call("a"), "-1", failure=ModelErrorKind.CUT_STREAM, message="cut")
    never = recorded(call("b"), "", status=None, failure=ModelErrorKind.TIMEOUT, message="late")
    upstream = replayed(cut, never)
    with pytest.raises(UpstreamError, match="cut"):
        said_to(upstream, call("a"))
    with pytest.raises(UpstreamError, match="late"):
        said_to(upstream, call("b"))
    assert set(upstream.api_formats) == set(ApiFormat)
