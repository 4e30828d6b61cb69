"""`agentbench explain`."""

from typing import Annotated

import typer

from agentbench.cli import options


def explain(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A failure reason or an exit code; default: all reasons.",
            metavar="[REASON|EXIT_CODE]",
        ),
    ] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="The stage that ended with the exit code.")
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Explain the failure taxonomy at the terminal.

    Example: agentbench explain 137 --stage setup
    """
    from agentbench.cli.explanation import explanation

    del debug  # read by the program itself
    typer.echo(explanation(what, stage).rstrip("\n"))
