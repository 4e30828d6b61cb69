import tomllib
from importlib.resources import files

import pytest

from agentbench.models.model_catalogue import context_window


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
def test_a_window_is_found_by_the_models_name(model, window):
    assert context_window(model).window == window


def test_room_is_left_for_the_answer():
    known = context_window("anything")
    assert known.max_request_tokens == known.window - known.output == 24_576


def test_every_row_leaves_most_of_its_window_to_the_request():
    text = files("agentbench.models").joinpath("context_windows.toml").read_text()
    for row in tomllib.loads(text)["models"]:
        assert row["output"] <= row["window"] / 4
        assert all(name == name.lower() for name in row["names"])
        assert context_window(row["names"][0].replace("*", "-x")).window == row["window"]
