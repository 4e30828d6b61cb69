"""`agentbench clean`, and sizes and ages as people write them on a command line."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.core.host import default_cache_dir
from agentbench.errors import UsageError

if TYPE_CHECKING:
    from agentbench.cli.cache_entries import EvictionDecision

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kMGT]i?)?B", re.ASCII)
_AGE = re.compile(r"(\d{1,6}) ?([mhdw])", re.ASCII)
_SIZE_UNITS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
_AGE_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


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
) -> None:
    """Remove what dead runs left, and what is cached (or a part of it); nothing still in use.

    Example: agentbench clean --keep 20GB --dry-run
    """
    if keep is None and older_than is None:
        _clean_all(dry_run=dry_run)
    else:
        _evict(keep, older_than, dry_run=dry_run)


def _evict(keep: str | None, older_than: str | None, *, dry_run: bool) -> None:
    from agentbench.cli import cache_entries

    keep_bytes = None if keep is None else parse_size(keep)
    unused_since = None
    if older_than is not None:
        unused_since = (datetime.now(UTC) - parse_age(older_than)).timestamp()
    cache_dir = default_cache_dir()
    orphans = cache_entries.find_all_orphans(cache_dir)
    dead = [each for each in orphans if not each.owner_alive]
    for each in dead:
        typer.echo(f"{each.kind} {each.id} ({format_size(each.size_bytes)})")
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
        typer.echo(_eviction_line(decision, gone=gone, dry_run=dry_run))
    word = "would be freed" if dry_run else "freed"
    typer.echo(f"{format_size(freed)} {word}, {format_size(remaining)} kept", err=True)


def _eviction_line(decision: "EvictionDecision", *, gone: bool, dry_run: bool) -> str:
    entry = decision.entry
    used = datetime.fromtimestamp(entry.used_at, UTC)
    what = ("would go" if dry_run else "removed") if gone else "kept"
    if entry.in_use or (decision.goes and not gone):
        what = "in use"
    size = format_size(decision.size_bytes)
    return f"{what:<9} {size:>9}  {used:%Y-%m-%d %H:%M}  {entry.kind} {entry.name}"


def _clean_all(*, dry_run: bool) -> None:
    from agentbench.agents.client_bundles import bundles_folder, cached_bundles, remove_bundle
    from agentbench.cli import cache_entries

    cache_dir = default_cache_dir()
    orphans = cache_entries.find_all_orphans(cache_dir)
    dead = [each for each in orphans if not each.owner_alive]
    cache = cache_entries.CacheContents(folder=cache_dir, engine=None)
    prepared = cache.prepared_folders()
    bundles = cached_bundles(bundles_folder(cache_dir))
    unused = [each for each in bundles if not each.in_use]
    sizes = {f"{each.kind} {each.id}": each.size_bytes for each in dead}
    sizes |= {f"cached {each.parent.name} {each.name}": _size_of(each) for each in prepared}
    sizes |= {f"toolbox {each.folder.name}": each.size_bytes for each in unused}
    for name, size in sizes.items():
        typer.echo(f"{name} ({size / 2**20:.1f} MiB)")
    if not dry_run:
        cache_entries.remove_dead_orphans(dead)
        for folder in prepared:
            cache.forget_preparation(f"{folder.parent.name}/{folder.name}")
        for bundle in unused:
            remove_bundle(bundle.folder)
    in_use = len(orphans) - len(dead) + len(bundles) - len(unused)
    message = f", {in_use} in use by living runs kept" if in_use else ""
    word = "would be freed" if dry_run else "freed"
    total = sum(sizes.values()) / 2**20
    typer.echo(f"{len(sizes)} things, {total:.1f} MiB {word}{message}", err=True)


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parse_size(text: str) -> int:
    """Bytes from `500MB`, `1.5GB` (powers of 1000) or `20GiB` (of 1024).

    Raises:
        UsageError: it is not a size.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a size; write it like 500MB, 20GB or 20GiB")
    number, unit = found[1], found[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    return int(float(number) * base ** _SIZE_UNITS[unit.removesuffix("i")])


def parse_age(text: str) -> timedelta:
    """A time from `90m`, `12h`, `30d` or `2w`.

    Raises:
        UsageError: it is no time.
    """
    found = _AGE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not an age; write it like 12h, 30d or 2w")
    return int(found[1]) * _AGE_UNITS[found[2]]


def format_size(size: int) -> str:
    """Bytes in the unit that reads best: `1.2 GB`."""
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
