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
    """Remove what dead runs left, cached snapshots and agents' toolboxes; nothing still in use.

    Example: agentbench clean --dry-run
    """
    from agentbench.agents.toolbox.toolboxes import discard_toolbox, kept_toolboxes, toolboxes_in
    from agentbench.cli.cached import cached_states, forget
    from agentbench.cli.leftovers import every_leftover, remove_dead
    from agentbench.runs.places import default_cache_dir

    del debug  # read by the program itself
    cache_dir = default_cache_dir()
    found = every_leftover(cache_dir)
    states = cached_states(cache_dir)
    every_toolbox = kept_toolboxes(toolboxes_in(cache_dir))
    toolboxes = [each for each in every_toolbox if not each.in_use]
    dead = [each for each in found if not each.owner_alive]
    for each in dead:
        typer.echo(f"{each.kind} {each.id} ({each.size_bytes / 2**20:.1f} MiB)")
    for state in states:
        typer.echo(f"cached {state.provider} {state.key} ({state.size_bytes / 2**20:.1f} MiB)")
    for toolbox in toolboxes:
        typer.echo(f"toolbox {toolbox.folder.name} ({toolbox.size_bytes / 2**20:.1f} MiB)")
    sizes = [each.size_bytes for each in dead] + [state.size_bytes for state in states]
    sizes += [toolbox.size_bytes for toolbox in toolboxes]
    if not dry_run:
        remove_dead(dead)
        forget(states, cache_dir)
        for toolbox in toolboxes:
            discard_toolbox(toolbox)
    in_use = len(found) - len(dead) + len(every_toolbox) - len(toolboxes)
    kept = f", {in_use} in use by living runs kept" if in_use else ""
    word = "would be freed" if dry_run else "freed"
    typer.echo(f"{len(sizes)} things, {sum(sizes) / 2**20:.1f} MiB {word}{kept}", err=True)
