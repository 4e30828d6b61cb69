"""`agentbench clean`: remove remains of dead runs, and cache entries."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.cli.quantities import format_size, parse_duration, parse_size
from agentbench.cli.run_execution import say_nothing
from agentbench.core.display_text import counted
from agentbench.core.host import default_cache_dir

Row = dict[str, str | int]


def clean(
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="SIZE",
            help="Keep this much of the cache (20GB): the most recently used entries.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            help="Remove only cache entries that were unused for this long (30d).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Remove remains of dead runs, and the cache or a part of it, unless they are in use.

    Example: agentbench clean --keep 20GB --dry-run
    """
    # The JSON document has all lines.
    say = say_nothing if as_json else typer.echo
    if keep is None and older_than is None:
        rows = _clean_all(dry_run=dry_run, say=say)
    else:
        rows = _evict(keep, older_than, dry_run=dry_run, say=say)
    if as_json:
        typer.echo(json.dumps({"dry_run": dry_run, "entries": rows}, indent=1))


def _row(kind: str, name: str, size: int, action: str) -> Row:
    return {"kind": kind, "name": name, "size": size, "action": action}


def _evict(
    keep: str | None, older_than: str | None, *, dry_run: bool, say: Callable[[str], None]
) -> list[Row]:
    from agentbench.cli import cache_entries

    keep_bytes = None if keep is None else parse_size(keep)
    unused_since = None
    if older_than is not None:
        unused_since = (datetime.now(UTC) - parse_duration(older_than)).timestamp()
    cache_dir = default_cache_dir()
    orphans = cache_entries.find_all_orphans(cache_dir)
    dead = [each for each in orphans if not each.owner_alive]
    gone_word = "would go" if dry_run else "removed"
    rows = [_row(each.kind, each.id, each.size_bytes, gone_word) for each in dead]
    for each in dead:
        say(f"{each.kind} {each.id} ({format_size(each.size_bytes)})")
    if not dry_run:
        cache_entries.remove_dead_orphans(dead)
    cache = cache_entries.CacheContents.connect(cache_dir)
    decisions = cache_entries.plan_eviction(
        cache.entries(), keep_bytes=keep_bytes, unused_since=unused_since
    )
    freed = sum(each.size_bytes for each in dead)
    remaining = 0
    for decision in decisions:
        gone = decision.goes and (dry_run or cache.give_up(decision.entry))
        freed += decision.size_bytes if gone else 0
        remaining += 0 if gone else decision.size_bytes
        action = gone_word if gone else "kept"
        if decision.entry.in_use or (decision.goes and not gone):
            action = "in use"
        entry = decision.entry
        rows.append(_row(entry.kind, entry.name, decision.size_bytes, action))
        used = datetime.fromtimestamp(entry.used_at, UTC)
        size = format_size(decision.size_bytes)
        say(f"{action:<9} {size:>9}  {used:%Y-%m-%d %H:%M}  {entry.kind} {entry.name}")
    word = "would be freed" if dry_run else "freed"
    typer.echo(f"{format_size(freed)} {word}, {format_size(remaining)} kept", err=True)
    return rows


def _clean_all(*, dry_run: bool, say: Callable[[str], None]) -> list[Row]:
    from agentbench.agents.client_bundles import bundles_folder, cached_bundles, remove_bundle
    from agentbench.cli import cache_entries

    cache_dir = default_cache_dir()
    orphans = cache_entries.find_all_orphans(cache_dir)
    dead = [each for each in orphans if not each.owner_alive]
    cache = cache_entries.CacheContents(folder=cache_dir, engine=None)
    prepared = cache.prepared_folders()
    bundles = cached_bundles(bundles_folder(cache_dir))
    unused = [each for each in bundles if not each.in_use]
    sizes: dict[tuple[str, str], int] = {(e.kind, str(e.id)): e.size_bytes for e in dead}
    for folder in prepared:
        files = (path for path in folder.rglob("*") if path.is_file())
        name = f"{folder.parent.name} {folder.name}"
        sizes["cached", name] = sum(path.stat().st_size for path in files)
    sizes |= {("toolbox", each.folder.name): each.size_bytes for each in unused}
    for (kind, name), size in sizes.items():
        say(f"{kind} {name} ({format_size(size)})")
    if not dry_run:
        cache_entries.remove_dead_orphans(dead)
        for folder in prepared:
            cache.forget_preparation(f"{folder.parent.name}/{folder.name}")
        for bundle in unused:
            remove_bundle(bundle.folder)
    in_use = len(orphans) - len(dead) + len(bundles) - len(unused)
    message = f", {in_use} in use by living runs kept" if in_use else ""
    word = "would be freed" if dry_run else "freed"
    total = format_size(sum(sizes.values()))
    typer.echo(f"{counted(len(sizes), 'item')}, {total} {word}{message}", err=True)
    action = "would go" if dry_run else "removed"
    return [_row(kind, name, size, action) for (kind, name), size in sizes.items()]
