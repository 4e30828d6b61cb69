import json
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from agentbench.mcp.pytest_tools import PytestTool
from agentbench.test_tools.arguments import ExecuteArguments
from agentbench.test_tools.envelope import AnswerOutcome, PytestAnswer
from tests.mcp.transcripts import shown_rows

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
BLOCKS = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)
OWN = re.sub(r"symbolic transcripts: begin -->.*?<!-- symbolic transcripts", "", PAGE, flags=re.S)
"""Without the calls of the symbolic tools."""
CONFIGURATION, _, _ = PAGE.partition("## Transcripts")


def calls_in(page):
    """The calls that a page shows."""
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    return [json.loads(text) for text in blocks if text.startswith('{"name": ')]


@pytest.mark.parametrize(("language", "text"), BLOCKS, ids=[text[:40] for _, text in BLOCKS])
def test_every_block_can_be_read(language, text):
    (json.loads if language == "json" else tomllib.loads)(text)


@pytest.mark.parametrize("client", ["Claude Code", "Cursor", "VS Code", "Codex", "Zed"])
def test_each_client_starts_the_program_with_options_that_it_has(client):
    kind, text = re.search(rf"{client} .*?```(json|toml)\n(.*?)```", PAGE, re.DOTALL).groups()
    (servers,) = (json.loads if kind == "json" else tomllib.loads)(text).values()
    assert servers["pytest"]["command"] == "agentbench"
    assert servers["pytest"]["args"][:2] == ["mcp", "--root"]


def test_every_outcome_is_in_the_table():
    for outcome in get_args(AnswerOutcome):
        assert f"`{outcome}`" in PAGE


def test_transcripts_are_of_the_calls_that_the_tests_make():
    made = [{"name": row.tool, "arguments": row.call} for row in shown_rows()]
    assert sorted(map(str, calls_in(OWN))) == sorted(map(str, made))


def test_every_field_and_argument_is_named():
    for name in PytestAnswer.model_fields:
        assert f"`{name}`" in CONFIGURATION
    for tool in PytestTool:
        for name in tool.arguments.model_fields:
            assert f"`{name}`" in CONFIGURATION
    assert f"default {ExecuteArguments().timeout_s}" in CONFIGURATION
