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


def test_without_a_command_the_commands_are_listed(cli):
    result = cli()
    assert result.code == 2, result.stderr
    listed = re.findall(r"^  (\w+) ", result.stdout + result.stderr, re.MULTILINE)
    assert set(listed) >= set(COMMANDS)
