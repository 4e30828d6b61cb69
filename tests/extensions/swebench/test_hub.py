import re
import sys

import pytest

from agentbench.core.extras import install_command
from agentbench.errors import UsageError
from agentbench.extensions.swebench.hub import (
    HubDataset,
    download_split,
    is_dataset_name,
    splits_by_name,
    splits_of_card,
)

SHARDS = ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"]


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["data/test-00000-of-00001.parquet"], {"default": {"test": [0]}}),
        (
            [*SHARDS, "data/test_hard-00000-of-00001.parquet"],
            {"default": {"train": [0, 1], "test_hard": [2]}},
        ),
        (["test.jsonl", "dev.jsonl"], {"default": {"test": [0], "dev": [1]}}),
        (["swe_bench_test.json"], {"default": {"test": [0]}}),
        (["full.jsonl", "verified.jsonl"], {"default": {"full": [0], "verified": [1]}}),
        (["lite/test/0000.parquet", "lite/test/0001.parquet"], {"lite": {"test": [0, 1]}}),
        (["train/a.jsonl", "test/b.jsonl"], {"default": {"train": [0], "test": [1]}}),
        (["lite/test.jsonl", "full/test.jsonl"], {"lite": {"test": [0]}, "full": {"test": [1]}}),
        (["test.jsonl", "test.parquet"], {"default": {"test": [1]}}),
        (["latest.jsonl"], {"default": {"latest": [0]}}),
        (["README.md", "dataset_infos.json", "eval.py"], {}),
    ],
)  # fmt: skip
def test_split_follows_from_file_name(names, splits):
    assert splits_by_name(names) == {
        config: {split: [names[number] for number in files] for split, files in found.items()}
        for config, found in splits.items()
    }


@pytest.mark.parametrize(
    ("header", "splits"),
    [
        ("configs:\n- data_files: '*.jsonl'", {"default": {"train": ["a.jsonl", "b.jsonl"]}}),
        ("configs:\n- data_files: [a.jsonl]", {"default": {"train": ["a.jsonl"]}}),
        ("configs:\n- data_files: {x: a.jsonl}", {"default": {"x": ["a.jsonl"]}}),
        (
            "configs:\n- config_name: c\n  data_files:\n  - {split: x, path: [a.jsonl, data/*]}",
            {"c": {"x": ["a.jsonl", SHARDS[0]]}},
        ),
        ("configs:\n- data_files:\n  - {split: x, path: gone/*}", {}),
        ("configs: 7", {}),
        ("configs: [7, {data_files: 7}]", {}),
        ("license: mit", {}),
        ("[", {}),
        ("7", {}),
    ],
)
def test_a_card_lists_splits(tmp_path, header, splits):
    card = tmp_path / "README.md"
    card.write_text(f"---\n{header}\n---\n# Data\n")
    assert splits_of_card(card, ["a.jsonl", "b.jsonl", SHARDS[0], "x.py"]) == splits


def test_a_data_set_needs_no_card(tmp_path):
    assert splits_of_card(tmp_path / "README.md", ["a.jsonl"]) == {}


@pytest.mark.parametrize("name", ["SWE-bench/SWE-bench_Verified", "a/b.c", "nebius/SWE-rebench"])
def test_an_owner_and_a_name_are_a_data_set(name):
    assert is_dataset_name(name)


@pytest.mark.parametrize("name", ["verified", "a/b/c", "/a/b", "../b", "./b", "a/..", "a b/c", ""])
def test_other_texts_are_no_data_set(name):
    assert not is_dataset_name(name)


def test_without_the_client_of_the_hub_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr("agentbench.core.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=re.escape(install_command("swebench"))):
        download_split(HubDataset(name="a/b"))
