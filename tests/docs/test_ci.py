"""The page on CI: its workflows name commands, options and exit codes that there are."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from agentbench.cli.app import app
from agentbench.cli.process_setup import ExitCode

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
WORKFLOWS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands():
    """Each command of a workflow; one that is folded over lines is put together."""
    told = "\n".join(WORKFLOWS)
    folded = re.sub(
        r">-\n((?: {10}\S.*\n)+)", lambda found: " ".join(found[1].split()) + "\n", told
    )
    return re.findall(r"(?:run: |- )(agentbench .*)", folded)


def test_the_workflows_run_compare_report_and_gate():
    used = [line.split()[1] for line in commands()]
    assert used == ["images", "run", "report", "compare", "run", "report"]
    assert "--fail-under" in commands()[1]
    assert "--fail-on-regression" in commands()[3]


@pytest.mark.parametrize("line", commands())
def test_every_command_of_a_workflow_is_understood(line):
    words = shlex.split(line.partition(" > ")[0])[1:]
    command = get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    context = command.make_context("agentbench", words)  # parses, and refuses what is not there
    assert context.params


def test_a_workflow_is_indented_by_spaces_of_even_number():
    for workflow in WORKFLOWS:
        assert "\t" not in workflow
        for line in workflow.splitlines():
            assert (len(line) - len(line.lstrip())) % 2 == 0


def test_the_exit_codes_of_the_table_are_the_program_s():
    section = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    assert set(map(int, re.findall(r"^\| (\d+) \|", section, re.MULTILINE))) == set(ExitCode)


def test_codes_without_a_result_are_not_those_of_a_failed_check():
    named = re.search(r"Codes (.*?) mean that there is no result", PAGE, re.DOTALL)[1]
    assert set(map(int, re.findall(r"\d+", named))) == {
        ExitCode.INPUT, ExitCode.INFRASTRUCTURE, ExitCode.UNAVAILABLE,
    }  # fmt: skip
