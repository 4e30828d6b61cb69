"""The program's commands, put together. Nothing heavy is imported before a command needs it."""

from typing import Annotated

import typer

from agentbench.cli.agents import agents
from agentbench.cli.audit import audit
from agentbench.cli.clean import clean
from agentbench.cli.doctor import doctor
from agentbench.cli.explain import explain
from agentbench.cli.images import images
from agentbench.cli.mcp import mcp
from agentbench.cli.report import report
from agentbench.cli.rescore import rescore
from agentbench.cli.resume import resume
from agentbench.cli.run import run
from agentbench.cli.show import show
from agentbench.cli.tasks import tasks
from agentbench.cli.validate import validate

_EPILOG = (
    "Exit codes: 0 done, whatever the agents scored; 1 a check you asked for did not hold; "
    "2 wrong usage; 65 a task, run or import file is wrong; 69 the sandbox or engine is not "
    "available; 70 a bug in agentbench; 75 some attempt ended in an infrastructure failure; "
    "130 interrupted."
)

app = typer.Typer(
    name="agentbench",
    help="Tells whether a coding agent fixed a bug, why not, and that nobody cheated.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's markup alone would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


for command in (
    run, validate, resume, rescore, report, show, audit, explain, mcp, doctor, clean,
):  # fmt: skip
    app.command()(command)
app.add_typer(tasks, name="tasks")
app.add_typer(agents, name="agents")
app.add_typer(images, name="images")
