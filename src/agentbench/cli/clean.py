"""`agentbench clean`."""

from typing import Annotated

import typer

from agentbench.cli import options


def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Remove what dead runs left behind, and cached snapshots; nothing that a living run uses.

    Example: agentbench clean --dry-run
    """
    from agentbench.cli.cached import cached_states, forget
    from agentbench.cli.leftovers import every_leftover, remove_dead
    from agentbench.runs.places import default_cache_dir

    del debug  # read by the program itself
    cache_dir = default_cache_dir()
    found = every_leftover(cache_dir)
    states = cached_states(cache_dir)
    dead = [each for each in found if not each.owner_alive]
    for each in dead:
        typer.echo(f"{each.kind} {each.id} ({each.size_bytes / 2**20:.1f} MiB)")
    for state in states:
        typer.echo(f"cached {state.provider} {state.key} ({state.size_bytes / 2**20:.1f} MiB)")
    freed = sum(each.size_bytes for each in dead) + sum(state.size_bytes for state in states)
    if not dry_run:
        remove_dead(dead)
        forget(states, cache_dir)
    in_use = len(found) - len(dead)
    kept = f", {in_use} in use by living runs kept" if in_use else ""
    word = "would be freed" if dry_run else "freed"
    typer.echo(f"{len(dead) + len(states)} things, {freed / 2**20:.1f} MiB {word}{kept}", err=True)
