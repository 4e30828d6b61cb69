import json
import tomllib
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from agentbench.errors import InputError
from agentbench.models.interface import TokenCounts
from agentbench.models.model_catalogue import PriceFile, context_window, known_prices, load_prices

MILLION = TokenCounts(input=1_000_000)


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("gpt-5", 1.25),
        ("GPT-5", 1.25),
        ("gpt-5-2025-08-07", 1.25),
        ("openai/gpt-5-mini", 0.25),
        ("claude-opus-4-5-20251101", 5),
        ("claude-opus-4-8@20260601", 5),
        ("anthropic/claude-opus-4.8", 5),
        ("gemini-2.0-flash-001", 0.1),
    ],
)
def test_price_is_found_with_date_and_provider(name: str, usd: float) -> None:
    assert known_prices().cost_usd(name, TokenCounts(input=100_000)) == pytest.approx(usd / 10)


@pytest.mark.parametrize(
    "name", ["", "gpt", "gpt-5-turbo", "gpt-55", "my-own/gpt-5-like", "claude"]
)
def test_no_price_is_guessed(name: str) -> None:
    assert known_prices().cost_usd(name, MILLION) is None


def test_each_kind_of_token_has_its_own_rate() -> None:
    tokens = TokenCounts(
        input=100_000, output=10_000, cached=50_000, cache_written=30_000, cache_written_1h=10_000
    )
    cost = known_prices().cost_usd("claude-opus-4-8", tokens)
    parts = 20_000 * 5 + 50_000 * 0.5 + 20_000 * 6.25 + 10_000 * 10 + 10_000 * 25
    assert cost == pytest.approx(parts / 1e6)


def test_a_long_input_has_the_rates_of_one() -> None:
    prices = known_prices()
    short = prices.cost_usd("gemini-2.5-pro", TokenCounts(input=200_000, output=1000))
    long = prices.cost_usd("gemini-2.5-pro", TokenCounts(input=200_001, output=1000))
    assert short == pytest.approx(0.25 + 0.01)
    assert long == pytest.approx(0.5000025 + 0.015)


def test_missing_rates_equal_input_rate(tmp_path: Path) -> None:
    own = {"m": {"input": 2, "output": 0}}
    prices = load_prices(price_file(tmp_path, own))
    assert prices.cost_usd("m", TokenCounts(input=10**6, cached=10**5, cache_written=10**5)) == 2


def test_own_prices_have_priority(tmp_path: Path) -> None:
    own = {"gpt-5": {"input": 7, "output": 0}, "Local/Model": {"input": 0, "output": 0}}
    prices = load_prices(price_file(tmp_path, own))
    assert prices.cost_usd("gpt-5", MILLION) == 7
    assert prices.cost_usd("local/model", MILLION) == 0
    assert prices.cost_usd("gpt-5-mini", MILLION) == 0.25


def price_file(folder: Path, models) -> Path:
    path = folder / "prices.json"
    lists = [{"source": "my own", "date": "2026-01-01", "models": models}]
    path.write_text(json.dumps({"lists": lists}))
    return path


@pytest.mark.parametrize(
    "text", ["", "{}", '{"lists": [{"source": "x"}]}', '{"lists": [], "schema_version": 2}']
)
def test_malformed_price_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"prices\.json"):
        load_prices(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_prices(tmp_path / "nothing")


def test_price_lists_have_source_and_date() -> None:
    shipped = files("agentbench.models") / "prices.json"
    lists = PriceFile.model_validate_json(shipped.read_text()).lists
    assert all(each.source.startswith("https://") for each in lists)
    assert all(date(2025, 1, 1) < each.date < date(2030, 1, 1) for each in lists)
    for each in lists:
        for price in each.models.values():
            assert price.cached_input is None or price.cached_input <= price.input <= price.output


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-4o", 128_000),
        ("claude-sonnet-5-5", 200_000),
        ("gpt-6.1-sol", 272_000),
        ("gpt-5.3-chat-latest", 128_000),
        ("anthropic/claude-3-opus-20240229", 200_000),
        ("Qwen/Qwen3-Coder-30B", 128_000),
        ("gpt-4.1", 1_000_000),
        ("my-own-model", 32_768),
        ("", 32_768),
    ],
)
def test_context_window_is_found_by_model_name(model, window):
    assert context_window(model).window == window


def test_context_window_leaves_room_for_answer():
    known = context_window("anything")
    assert known.max_request_tokens == known.window - known.output == 24_576


def test_windows_leave_most_room_for_request():
    text = files("agentbench.models").joinpath("context_windows.toml").read_text()
    for row in tomllib.loads(text)["models"]:
        assert row["output"] <= row["window"] / 4
        assert all(name == name.lower() for name in row["names"])
        assert context_window(row["names"][0].replace("*", "-x")).window == row["window"]
