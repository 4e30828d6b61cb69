import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentbench.core.display_text import Redactor
from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway import exchange_log
from agentbench.models.gateway.exchange_log import (
    MAX_LOGGED_ANSWER,
    ExchangeLog,
    LoggedExchange,
    ModelExchange,
    read_exchanges,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure, TokenCounts

NAMES = {
    ApiFormat.OPENAI_CHAT: "messages",
    ApiFormat.OPENAI_RESPONSES: "input",
    ApiFormat.ANTHROPIC_MESSAGES: "messages",
    ApiFormat.GEMINI_GENERATE: "contents",
}


def exchange(request, wire=ApiFormat.OPENAI_CHAT, answer=b"{}", **more) -> ModelExchange:
    created = ModelExchange(
        time=datetime(2026, 1, 2, tzinfo=UTC),
        started=0.0,
        route=ApiRoute(api_format=wire),
        path="/v1/x",
        model="m",
        request=request,
        **more,
    )
    created.log_answer(answer)
    return created


def written(path: Path, *exchanges: ModelExchange) -> list[LoggedExchange]:
    log = ExchangeLog(path, Redactor([]))
    for each in exchanges:
        log.write(each)
    log.close()
    return list(read_exchanges(path))


@pytest.mark.parametrize("wire", list(ApiFormat))
def test_growing_conversation_is_stored_once(tmp_path: Path, wire) -> None:
    tools = [{"name": f"tool{n}", "text": "x" * 1000} for n in range(20)]
    turns = [{"role": "user", "content": f"{n} " + "y" * 1000} for n in range(200)]
    requests = [
        {"model": "m", "tools": tools, NAMES[wire]: turns[: 2 * n + 1], "n": n} for n in range(100)
    ]
    read = written(tmp_path / "log", *(exchange(each, wire) for each in requests))

    assert [each.request for each in read] == requests
    assert (tmp_path / "log").stat().st_size < 2 * len(json.dumps(requests[-1])) + 100_000
    assert read[-1].same_as == 99
    assert read[-1].same_turns == 197


def test_changed_turns_are_stored(tmp_path: Path) -> None:
    one = [{"role": "user", "content": str(n)} for n in range(6)]
    two = [{"role": "user", "content": f"other {n}"} for n in range(6)]
    changed = [*one[:3], {"role": "user", "content": "changed"}, one[4]]
    lists = [one[:2], two[:2], one[:4], two[:5], changed, one, [], two[:1]]
    requests = [{"messages": turns, "system": turns[0] if turns else None} for turns in lists]
    read = written(tmp_path / "log", *map(exchange, requests))
    assert [each.request for each in read] == requests


def test_line_has_result_of_request(tmp_path: Path) -> None:
    failed = exchange({"model": "m"}, status=429, seconds=1.23456789, first_byte_s=0.5)
    failed.failure = ModelFailure(kind=ModelErrorKind.RATE_LIMIT, status=429, message="slow down")
    answered = exchange({"model": "m"}, status=200, cost_usd=0.25, answer=b"data: 1\n\ndata: 2\n\n")
    answered.tokens = TokenCounts(input=5, output=2, cached=1)
    one, two = written(tmp_path / "log", failed, answered)
    assert (one.line, one.status, one.seconds, one.first_byte_s) == (1, 429, 1.2346, 0.5)
    assert (one.error, one.message, one.tokens) == ("rate_limit", "slow down", None)
    assert (two.cost_usd, two.error, two.answer) == (0.25, None, "data: 1\n\ndata: 2\n\n")
    assert (two.tokens.input, two.tokens.output, two.tokens.cached) == (5, 2, 1)


def test_bodies_in_log_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_log, "REQUEST_LIMIT", 1000)
    long = {"messages": [{"role": "user", "content": "x" * 5000}], "model": "m"}
    large, after = written(
        tmp_path / "log",
        exchange(long, answer=b"y" * (MAX_LOGGED_ANSWER + 5)),
        exchange({**long, "messages": [*long["messages"], {"role": "user", "content": "z"}]}),
    )
    assert large.request == {}
    assert "characters left out" in large.request_cut
    assert (len(large.answer), large.answer_left_out) == (MAX_LOGGED_ANSWER, 5)
    assert after.same_as is None
    monkeypatch.setattr(exchange_log, "FILE_LIMIT", 100)
    *_, last = written(tmp_path / "more", exchange({"a": "b" * 200}), exchange({"a": "c"}))
    assert (last.line, last.request, last.answer) == (2, {}, "")


def test_truncated_lines_are_skipped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    written(log, exchange({"messages": [1, 2]}), exchange({"messages": [1, 2, 3]}))
    whole = log.read_text()
    log.write_text("torn\n" + whole + '{"line": 3, "ti')
    assert [each.request for each in read_exchanges(log)] == [
        {"messages": [1, 2]},
        {"messages": [1, 2, 3]},
    ]
    log.write_text(whole.split("\n", 1)[1])
    assert [each.request for each in read_exchanges(log)] == [{"messages": [3]}]
