"""`agentbench clean`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options

if TYPE_CHECKING:
    from agentbench.cli.eviction import Fate


def clean(
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="SIZE",
            help="Of what is cached, keep this much (20GB): what was used last stays.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Of what is cached, remove only what was not used for so long (30d).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Remove what dead runs left, and what is cached (or a part of it); nothing still in use.

    Example: agentbench clean --keep 20GB --dry-run
    """
    del debug  # read by the program itself
    if keep is None and older_than is None:
        _clean_all(dry_run=dry_run)
    else:
        _evict(keep, older_than, dry_run=dry_run)


def _evict(keep: str | None, older_than: str | None, *, dry_run: bool) -> None:
    from agentbench.cli.amounts import parse_age, parse_size, shown_size
    from agentbench.cli.eviction import decide
    from agentbench.cli.kept import Cache
    from agentbench.cli.leftovers import every_leftover, remove_dead
    from agentbench.runs.places import default_cache_dir

    keep_bytes = None if keep is None else parse_size(keep)
    unused_since = None
    if older_than is not None:
        unused_since = (datetime.now(UTC) - parse_age(older_than)).timestamp()
    dead = [each for each in every_leftover(default_cache_dir()) if not each.owner_alive]
    for each in dead:
        typer.echo(f"{each.kind} {each.id} ({shown_size(each.size_bytes)})")
    if not dry_run:
        remove_dead(dead)
    cache = Cache.connect(default_cache_dir())
    fates = decide(cache.things(), keep_bytes=keep_bytes, unused_since=unused_since)
    freed = sum(each.size_bytes for each in dead)
    left = 0
    for fate in fates:
        gone = fate.goes and (dry_run or cache.give_up(fate.thing))
        freed += fate.size_bytes if gone else 0
        left += 0 if gone else fate.size_bytes
        typer.echo(_row(fate, gone=gone, dry_run=dry_run))
    word = "would be freed" if dry_run else "freed"
    typer.echo(f"{shown_size(freed)} {word}, {shown_size(left)} kept", err=True)


def _row(fate: "Fate", *, gone: bool, dry_run: bool) -> str:
    from agentbench.cli.amounts import shown_size

    used = datetime.fromtimestamp(fate.thing.used_at, UTC)
    what = ("would go" if dry_run else "removed") if gone else "kept"
    if fate.thing.in_use or (fate.goes and not gone):
        what = "in use"
    size = shown_size(fate.size_bytes)
    return f"{what:<9} {size:>9}  {used:%Y-%m-%d %H:%M}  {fate.thing.kind} {fate.thing.name}"


def _clean_all(*, dry_run: bool) -> None:
    from agentbench.agents.toolbox.toolboxes import discard_toolbox, kept_toolboxes, toolboxes_in
    from agentbench.cli.cached import cached_states, forget
    from agentbench.cli.leftovers import every_leftover, remove_dead
    from agentbench.runs.places import default_cache_dir

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
