from pathlib import Path

import pytest

from agentbench.agents.registry import PredictionName


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "file", "model"),
    [
        ("predictions:preds.json", "preds.json", None),
        ("predictions:a/preds.jsonl#gpt/5", "a/preds.jsonl", "gpt/5"),
        ("predictions:preds.json#", "preds.json", ""),
        ("predictions:", "", None),
    ],
)
def test_a_model_comes_after_the_file(text, file, model):
    assert PredictionName.parse(text) == PredictionName(file=Path(file), model=model)


def test_a_file_whose_name_bears_the_mark_is_found(tmp_path):
    (tmp_path / "a#b.json").touch()
    parsed = PredictionName.parse("predictions:a#b.json")
    assert parsed == PredictionName(file=Path("a#b.json"))
    assert PredictionName.parse(str(parsed)) == PredictionName(file=tmp_path / "a#b.json")


def test_another_agent_s_name_is_none_of_these():
    assert PredictionName.parse("oracle") is None
    assert PredictionName.parse("my.predictions:agent") is None


def test_a_name_says_the_same_in_every_folder(tmp_path):
    named = str(PredictionName.parse("predictions:preds.json#m"))
    assert named == f"predictions:{tmp_path}/preds.json#m"
