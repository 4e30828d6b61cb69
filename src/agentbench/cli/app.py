"""The program's commands, put together. Nothing heavy is imported before a command needs it."""

from typing import Annotated

import typer

from agentbench.cli.commands import SETTINGS, LazyCommands

_EPILOG = (
    "Exit codes: 0 done, whatever the agents scored; 1 a check you asked for did not hold; "
    "2 wrong usage; 65 a task, run or import file is wrong; 69 the sandbox or engine is not "
    "available; 70 a bug in agentbench; 75 some attempt ended in an infrastructure failure; "
    "130 interrupted; 141 the reader of a pipe ended first."
)

app = typer.Typer(
    name="agentbench",
    help="Tells whether a coding agent fixed a bug, why not, and that nobody cheated.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's markup alone would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
    cls=LazyCommands,
)


def _show_version(asked: bool) -> None:
    # As the option's callback: the program's own runs only once there is a command.
    if asked:
        from agentbench import __version__

        typer.echo(f"agentbench {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    pass
