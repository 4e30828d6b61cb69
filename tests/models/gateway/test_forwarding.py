from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.forwarding import EventSplitter, StreamReader
from agentbench.models.interface import ApiFormat, ModelErrorKind

EVENTS = [b"data: 1\n\n", b"event: x\r\ndata: 2\r\n\r\n", b": comment\r\r", b"data: a\ndata: b\n\n"]


@given(st.lists(st.sampled_from(EVENTS)), st.lists(st.integers(1, 9), min_size=1))
def test_chunks_cut_anywhere_are_whole_events_again(events: list[bytes], sizes: list[int]) -> None:
    data, splitter, found, at = b"".join(events), EventSplitter(), [], 0
    for size in sizes * (len(data) + 1):
        found += splitter.feed(data[at : at + size])
        at += size
    assert b"".join(found) + splitter.rest() == data
    assert found == events or b"\r\r" in data or b"\r\n" in data


def test_an_event_that_never_ends_is_passed_on_in_parts() -> None:
    splitter, passed = EventSplitter(), 0
    for _ in range(100):
        passed += sum(map(len, splitter.feed(b"x" * 65536)))
    assert passed + len(splitter.rest()) == 100 * 65536
    assert passed > 5_000_000


def watch(wire: ApiFormat, *, amended: bool = False) -> StreamReader:
    time = datetime.now(UTC)
    exchange = ModelExchange(
        time=time, started=0, route=ApiRoute(api_format=wire), path="/", model="m", request={}
    )
    return StreamReader(exchange, amended=amended)


def test_what_is_no_json_is_passed_on_and_means_nothing() -> None:
    seen = watch(ApiFormat.OPENAI_CHAT)
    for event in (b": ping\n\n", b"data: {torn\n\n", b"data: []\n\n", b"data:\n\n", b"\xff\n\n"):
        assert seen.passes(event)
    assert (seen.ended, seen.tokens, seen.failure, seen.refused) == (False, None, None, False)


def test_data_over_several_lines_is_one_event() -> None:
    seen = watch(ApiFormat.ANTHROPIC_MESSAGES)
    seen.passes(b'event: message_stop\ndata: {"type":\ndata: "message_stop"}\n\n')
    assert seen.ended


@pytest.mark.parametrize("amended", [True, False])
def test_only_what_was_asked_for_by_us_is_held_back(amended: bool) -> None:
    seen = watch(ApiFormat.OPENAI_CHAT, amended=amended)
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}\n\n'
    assert seen.passes(usage) is not amended
    assert seen.tokens.input == 3
    assert seen.passes(b"data: [DONE]\n\n")
    assert seen.ended


def test_the_first_error_is_the_one_that_counts() -> None:
    seen = watch(ApiFormat.ANTHROPIC_MESSAGES)
    for kind in ("overloaded_error", "api_error"):
        seen.passes(
            b'data: {"type": "error", "error": {"type": "%s", "message": "m"}}\n\n' % kind.encode()
        )
    assert (seen.failure.kind, seen.failure.status) == (ModelErrorKind.OVERLOADED, 200)
