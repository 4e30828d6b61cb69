import re

import pytest
from typer.main import get_command

from agentbench.cli.app import app


def paths_below(commands, before=()):
    """Every command and every group below the first level, by the words that call it."""
    for name, command in commands.items():
        path = (*before, name)
        below = getattr(command, "commands", None)
        if below is None or before:
            yield path
        yield from paths_below(below or {}, path)


COMMANDS = get_command(app).commands
PATHS = list(paths_below(COMMANDS))


def command_of(path):
    command = COMMANDS[path[0]]
    for name in path[1:]:
        command = command.commands[name]
    return command


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_answers_for_help_with_an_example_of_itself(cli, path):
    result = cli(*path, "--help")
    assert result.code == 0, result.stderr
    assert result.stderr == ""
    assert f"Example: agentbench {' '.join(path)}" in " ".join(result.stdout.split())


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_option_of_every_command_says_what_it_is_for(path):
    for parameter in command_of(path).params:
        assert parameter.help, f"{path} {parameter.name}"


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_an_option_that_nobody_knows_is_wrong_usage(cli, path):
    result = cli(*path, "--nonsense")
    assert result.code == 2, result.stderr
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Error: No such option: --nonsense")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("validate",), "Missing argument 'tasks'"),
        (("run", "x", "--attempts", "0"), "--attempts"),
        (("run", "x", "--limit", "none"), "--limit"),
        (("run", "x", "--sandbox", "castle"), "--sandbox"),
        (("run", "x", "--fail-under", "2"), "--fail-under"),
        (("run", "x", "--fail-under", "nan"), "--fail-under"),
        (("run", "x", "--max-cost", "-1"), "--max-cost"),
        (("run", "x", "--max-cost", "nan"), "--max-cost"),
        (("run", "x", "--max-outage", "1e300"), "--max-outage"),
        (("run", "x", "--attempt-timeout", "inf"), "'inf' is not a duration; write it like 90s"),
        (("validate", "x", "--min-strength", "101"), "'101' is not a rate; write it like 80%"),
        (("run", "x", "--attempt-timeout", "nan"), "--attempt-timeout"),
        (("run", "x", "--timeout-scale", "1e30"), "--timeout-scale"),
        (("run", "x", "--integrity-controls", "some"), "--integrity-controls"),
        (("validate", "x", "--repeat", "0"), "--repeat"),
        (("report", "--format", "pdf"), "--format"),
        (("show", "last", "x", "0"), "attempt"),
        (("nonsense",), "nonsense"),
        (("tasks", "nonsense"), "nonsense"),
    ],
)
def test_wrong_usage_is_told_in_one_line_that_names_it(cli, arguments, named):
    result = cli(*arguments)
    assert result.code == 2, result.stderr
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert named in last


def test_without_a_command_the_commands_are_listed(cli):
    result = cli()
    assert result.code == 2, result.stderr
    listed = re.findall(r"^  (\w+) ", result.stdout + result.stderr, re.MULTILINE)
    assert set(listed) >= set(COMMANDS)
