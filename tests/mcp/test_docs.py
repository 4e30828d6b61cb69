"""docs/mcp.md says what is so."""

import json
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from agentbench.mcp.pytest_tools import PytestTool
from agentbench.mcp.symbolic_tools import SymbolicTool
from agentbench.symbolic.analysis import SymbolicErrorType
from agentbench.test_tools.arguments import ExecuteArguments
from agentbench.test_tools.envelope import AnswerOutcome, PytestAnswer
from tests.mcp.rows import ROWS
from tests.mcp.symbolic_rows import ROWS as SYMBOLIC_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
BLOCKS = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)
CONFIGURATION, _, TRANSCRIPTS = PAGE.partition("## Transcripts")


@pytest.mark.parametrize(("language", "text"), BLOCKS, ids=[text[:40] for _, text in BLOCKS])
def test_every_block_can_be_read(language, text):
    (json.loads if language == "json" else tomllib.loads)(text)


@pytest.mark.parametrize("client", ["Claude Code", "Cursor", "VS Code", "Codex", "Zed"])
def test_each_client_starts_the_program_with_options_that_it_has(client):
    kind, text = re.search(rf"{client} .*?```(json|toml)\n(.*?)```", PAGE, re.DOTALL).groups()
    (servers,) = (json.loads if kind == "json" else tomllib.loads)(text).values()
    assert servers["pytest"]["command"] == "agentbench"
    assert servers["pytest"]["args"][:2] == ["mcp", "--root"]


def test_every_outcome_is_in_the_table_and_has_a_transcript():
    for outcome in get_args(AnswerOutcome):
        assert f"`{outcome}`" in PAGE
        assert f"#### {outcome}\n" in TRANSCRIPTS


def test_transcripts_are_of_the_calls_that_the_tests_make():
    calls = [json.loads(text) for _, text in BLOCKS if text.startswith('{"name": ')]
    rows = [*ROWS, *(row for row in SYMBOLIC_ROWS if row.shown)]
    made = [{"name": row.tool, "arguments": row.call} for row in rows]
    assert sorted(map(str, calls)) == sorted(map(str, made))


def test_every_field_and_argument_is_named():
    for name in PytestAnswer.model_fields:
        assert f"`{name}`" in CONFIGURATION
    for tool in PytestTool:
        for name in tool.arguments.model_fields:
            assert f"`{name}`" in CONFIGURATION
    assert f"default {ExecuteArguments().timeout_s}" in CONFIGURATION


def test_every_symbolic_tool_is_shown_with_all_of_its_fields_and_arguments():
    section = PAGE.partition("## Tools for functions")[2].partition("## Conformance")[0]
    for tool in SymbolicTool:
        assert f"#### {tool}: " in section
        for name in tool.answer.model_fields:
            assert f'"{name}": ' in section
        for name in tool.arguments.model_fields:
            assert f"`{name}`" in section
    for kind in SymbolicErrorType:
        assert f"`{kind}`" in section
