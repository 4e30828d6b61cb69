"""A group of options is declared once, and its fields become options of each command."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from agentbench.cli.options import expand_groups


@dataclass(frozen=True, kw_only=True)
class Group:
    many: Annotated[int, typer.Option("--many", help="How many.")] = 2
    loud: Annotated[bool, typer.Option("--loud")] = False


def called(*arguments: str) -> list[object]:
    got: list[object] = []

    @expand_groups
    def command(
        name: Annotated[str, typer.Argument()],
        group: Group = Group(),
        last: Annotated[int, typer.Option("--last")] = 1,
    ) -> None:
        """Do something."""
        got.extend((name, group, last))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return got or [done.output]


def test_the_fields_are_options_and_the_command_gets_the_group():
    assert called("x") == ["x", Group(), 1]
    assert called("x", "--many", "3", "--loud", "--last", "5") == [
        "x",
        Group(many=3, loud=True),
        5,
    ]


def test_help_lists_them_in_the_place_of_the_group():
    (said,) = called("--help")
    assert isinstance(said, str)
    assert "Do something." in said
    assert said.index("--many") < said.index("--loud") < said.index("--last")
