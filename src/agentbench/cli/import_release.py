"""`agentbench tasks import release`."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace as replace_in
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode
from agentbench.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from agentbench.curation.release.ledger import ReleaseEntry
    from agentbench.tasks.importers.refusal import Refusal
    from agentbench.tasks.importers.sdist.wanted import WantedPair

_RELEASE = "PACKAGE [[OLD] NEW]"


def import_release(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="A package and two of its releases; by default its newest and the one before.",
            metavar=_RELEASE,
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option("--from", help="A file with such words on each line, for many at once."),
    ] = None,
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    repeat: options.Repeat = 2,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Make a task of two releases of a package: from OLD's sources to what NEW's tests want.

    Needs the extra releases. What became of each pair is in OUT/releases.jsonl; a pair that makes
    no good task leaves nothing else.

    Example: agentbench tasks import release humanize 4.11.0 4.12.0
    """
    from agentbench.cli.gating import gate_settings, showing
    from agentbench.extras import RELEASES, require

    del debug  # read by the program itself
    require("tasks import release", RELEASES)
    from agentbench.curation.release.importing import ReleaseImport, import_releases
    from agentbench.curation.release.index import PackageIndex
    from agentbench.curation.release.pip_settings import pip_settings

    wanted, refused = _wanted(words or [], listed)
    gate = gate_settings(
        repeat=repeat, jobs=jobs, sandbox=sandbox, runs_dir=runs_dir, write_ids=True
    )
    say = (lambda _line: None) if quiet else _say
    gate = replace_in(gate, options=replace_in(gate.options, say=say))
    with PackageIndex(pip_settings()) as index:
        told = ReleaseImport(
            index=index,
            out=out,
            gate=None if no_prove else gate,
            replace=replace,
            say=say,
        )
        entries = import_releases(wanted, told, showing(quiet=quiet, verbose=verbose))
    _tell(entries, refused, as_json=as_json)


def _wanted(words: Sequence[str], listed: Path | None) -> "tuple[list[WantedPair], list[Refusal]]":
    from agentbench.tasks.importers.sdist.wanted import read_wanted, wanted_pair

    if bool(words) == (listed is not None):
        raise UsageError(f"give {_RELEASE}, or --from FILE with such words on each line")
    if listed is not None:
        return read_wanted(listed)
    return [wanted_pair(words)], []


def _say(line: str) -> None:
    from agentbench.report.harmless import harmless

    typer.echo(harmless(line, limit=500), err=True)


def _tell(
    entries: "Sequence[ReleaseEntry]", refused: "Sequence[Refusal]", *, as_json: bool
) -> None:
    """Say what became of each pair, and of how many.

    Raises:
        UnavailableError: nothing was decided, for the index or the sandbox was away.
        Exit: 65 where a pair could be made no task, 1 where one that was made is not good.
    """
    from agentbench.curation.history.ledger import Fate
    from agentbench.report.harmless import harmless

    if as_json:
        typer.echo(json.dumps(_document(entries, refused), indent=1))
    else:
        for entry in entries:
            what = entry.task or "; ".join(entry.reasons)
            typer.echo(harmless(f"{entry.fate.value:<9}  {entry.pair}  {what}", limit=500))
    for refusal in refused:
        typer.echo(f"refused: {harmless(str(refusal), limit=500)}", err=True)
    count = Counter(entry.fate for entry in entries)
    parts = [f"{count[fate]} {fate.value}" for fate in Fate if count[fate]]
    pairs = "1 pair" if len(entries) == 1 else f"{len(entries)} pairs"
    typer.echo(f"{pairs} of releases: {', '.join(parts) or 'none'}", err=True)
    _exit(entries, refused)


def _exit(entries: "Sequence[ReleaseEntry]", refused: "Sequence[Refusal]") -> None:
    from agentbench.curation.history.ledger import Fate

    if entries and all(entry.fate is Fate.UNDECIDED for entry in entries):
        raise UnavailableError(entries[0].reasons[0])
    bad = [entry for entry in entries if entry.fate is not Fate.KEPT]
    if refused or any(not entry.run for entry in bad):
        raise typer.Exit(ExitCode.INPUT)
    if bad:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _document(entries: "Sequence[ReleaseEntry]", refused: "Sequence[Refusal]") -> dict[str, object]:
    return {
        "pairs": [entry.model_dump(mode="json") for entry in entries],
        "refused": [{"where": one.where, "what": one.what} for one in refused],
    }
