"""`agentbench agents`."""

import typer

agents = typer.Typer(
    help="The agents that can be named here.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@agents.callback()
def _group() -> None:
    """The agents that can be named here."""


@agents.command("list")
def list_agents() -> None:
    """List the agents, a line each.

    Example: agentbench agents list
    """
    from agentbench.agents.choose import available_agents

    for name, what in available_agents().items():
        typer.echo(f"{name:<16} {what}")
    typer.echo(f"{'package.module:attribute':<16} your own, by import path")
