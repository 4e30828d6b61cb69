"""`agentbench tasks mine`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import history_options, options

if TYPE_CHECKING:
    from agentbench.curation.history.ledger import Entry


def mine(
    repo: Annotated[str, typer.Argument(help="A repository's URL or folder.", metavar="REPO")],
    out: options.Out = Path("tasks"),
    since: Annotated[
        str | None, typer.Option("--since", help="Only commits after this date, as git reads it.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Only commits before this date.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="At most so many candidates are tried.", min=1)
    ] = None,
    tests: history_options.TestGlobs = None,
    image: history_options.Image = None,
    setup: history_options.SetupCommand = None,
    test_command: history_options.PytestCommand = None,
    whole_suite: history_options.WholeSuite = True,
    keep: history_options.Keep = history_options.Keeping.AUTO,
    repeat: options.Repeat = 3,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Make tasks of a repository's own fixes: commits that change source and tests.

    Each is proven: its tests fail before it and pass with it, every time. What became of each
    commit is in OUT/mined.jsonl, and the same command goes on where it was interrupted.

    Example: agentbench tasks mine https://example.org/project.git --since 2026-01-01 --limit 20
    """
    from agentbench.cli.gating import gate_settings, showing
    from agentbench.curation.environments import Environments
    from agentbench.curation.history.making import Origin
    from agentbench.curation.history.mining import Mine
    from agentbench.curation.history.mining import mine as mine_history
    from agentbench.tasks.history.commit import mirror_of_history
    from agentbench.tasks.mirror import Mirrors

    del debug  # read by the program itself
    gate = gate_settings(
        repeat=repeat, jobs=jobs, sandbox=sandbox, runs_dir=runs_dir, write_ids=True
    )
    given = history_options.given_environment(image, setup, test_command)
    url = history_options.url_of(repo)
    mirrors = Mirrors(gate.options.cache_dir / "mirrors")
    told = Mine(
        origin=Origin(
            url=url,
            mirrors=mirrors,
            environments=Environments(gate.options, given),
            as_files=keep.as_files(url),
        ),
        out=out,
        gate=gate,
        tests=tuple(tests or ()),
        since=since,
        until=until,
        limit=limit,
        whole_suite=whole_suite,
        say=gate.options.say,
    )
    head = mirror_of_history(url, mirrors)
    entries = mine_history(told, head, showing(quiet=quiet, verbose=verbose))
    _tell(entries, out, as_json=as_json)


def _tell(entries: "Sequence[Entry]", out: Path, *, as_json: bool) -> None:
    from agentbench.curation.history.ledger import LEDGER, Fate
    from agentbench.report.harmless import harmless

    if as_json:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=1))
    else:
        for entry in entries:
            what = entry.task or "; ".join(entry.reasons)
            line = f"{entry.commit[:12]}  {entry.fate.value:<9}  {entry.subject}  ({what})"
            typer.echo(harmless(line, limit=300))
    tried = [entry for entry in entries if entry.candidate]
    kept = sum(entry.fate is Fate.KEPT for entry in entries)
    undecided = sum(entry.fate is Fate.UNDECIDED for entry in entries)
    lost = f", {undecided} not decided (run it again)" if undecided else ""
    typer.echo(
        f"{len(entries)} commits, {len(tried)} candidates, {kept} kept{lost}: {out / LEDGER}",
        err=True,
    )
