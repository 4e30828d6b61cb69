from datetime import UTC, datetime
from threading import Thread

import pytest

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.ledger import Ledger
from agentbench.models.interface import ApiFormat, TokenCounts
from agentbench.models.model_catalogue import known_prices
from agentbench.scoring.evidence import Severity


def ledger(*, model="gpt-5", budget_usd=1.0, free=False) -> Ledger:
    return Ledger(model=model, budget_usd=budget_usd, cost_of=known_prices().cost_usd, free=free)


def exchange(model="gpt-5") -> ModelExchange:
    route = ApiRoute(api_format=ApiFormat.OPENAI_CHAT)
    time = datetime.now(UTC)
    return ModelExchange(time=time, started=0, route=route, path="/", model=model, request={})


def test_later_token_counts_replace_earlier_ones() -> None:
    one, book = exchange(), ledger()
    for tokens in (TokenCounts(input=100, output=1), TokenCounts(input=100, output=40, cached=50)):
        book.count_tokens(one, tokens)
    usage = book.facts().usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (100, 40, 50)
    assert usage.cost_usd == pytest.approx((50 * 1.25 + 50 * 0.125 + 40 * 10) / 1e6)


def test_unknown_price_makes_total_cost_unknown() -> None:
    book = ledger()
    assert book.facts().usage.cost_usd == 0.0
    book.count_tokens(exchange(), TokenCounts(input=1_000_000))
    book.count_tokens(exchange("nobody-knows"), TokenCounts(input=1))
    assert book.facts().usage.cost_usd is None
    assert book.is_budget_spent()  # what is known of it is over the budget already
    assert ledger(model="nobody-knows").facts().usage.cost_usd is None


def test_replay_is_free_and_limited_by_budget() -> None:
    book = ledger(free=True)
    book.count_tokens(exchange(), TokenCounts(input=1_000_000))
    assert book.is_budget_spent()
    assert book.facts().usage.cost_usd == 0.0
    assert ledger(model="nobody-knows", free=True).facts().usage.cost_usd == 0.0


def test_findings_are_unique_and_limited() -> None:
    book = ledger()
    for number in range(200):
        for _ in range(2):
            book.add_finding("gateway-path", Severity.WARNING, f"GET /{number}", "asked")
    found = book.facts().findings
    assert len(found) == len({each.where for each in found}) == 50


def test_threads_do_not_lose_anything() -> None:
    book = ledger(budget_usd=9)

    def work() -> None:
        for _ in range(500):
            book.count_request()
            book.count_tokens(exchange(), TokenCounts(input=2, output=1))

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    usage = book.facts().usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (4000, 8000, 4000)
