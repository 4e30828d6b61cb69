"""`agentbench tasks import release`."""

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line, say_nothing
from agentbench.cli.tasks import validation as validating
from agentbench.core import extras
from agentbench.core.display_text import counted, printable
from agentbench.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from agentbench.extensions.releases.release_import import ImportedPair
    from agentbench.tasks.dataset_rows import Rejection

_RELEASE_METAVAR = "PACKAGE [[OLD] NEW]"


@options.expand_groups
def import_release(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="A package and two of its releases; by default its newest and the one before.",
            metavar=_RELEASE_METAVAR,
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A file with PACKAGE [[OLD] NEW] on each line, for many pairs."
        ),
    ] = None,
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    *,
    validation: options.ValidationOptions,
) -> None:
    """Make a task of two releases of a package: OLD's sources must be changed to pass NEW's tests.

    Needs the extra releases. The result for each pair is in OUT/releases.jsonl; a pair without a
    valid task leaves nothing else.

    Example: agentbench tasks import release humanize 4.11.0 4.12.0
    """
    extras.require("tasks import release", extras.RELEASES)
    # Imported only here: its HTTP client takes a quarter of a second.
    from agentbench.extensions.releases import package_index
    from agentbench.extensions.releases.release_import import ReleaseImportSettings, import_releases

    if bool(words) == (listed is not None):
        raise UsageError(f"give {_RELEASE_METAVAR}, or --from FILE with these words on each line")
    refused: list[Rejection] = []
    if listed is not None:
        requested, refused = package_index.read_requested_releases(listed)
    else:
        requested = [package_index.parse_requested_releases(words or [])]
    settings = validating.validation_settings(validation, write_ids=True)
    say = say_nothing if validation.quiet else say_line
    settings = dataclasses.replace(settings, options=settings.options.replace(say=say))
    with package_index.PackageIndex(package_index.read_pip_settings()) as index:
        importing = ReleaseImportSettings(
            index=index, out=out, gate=None if no_prove else settings, replace=replace, say=say
        )
        entries = import_releases(requested, importing, validating.follow_validation(validation))
    _print_pairs(entries, refused, as_json=validation.as_json)


def _print_pairs(
    entries: "Sequence[ImportedPair]", refused: "Sequence[Rejection]", *, as_json: bool
) -> None:
    from agentbench.importers.candidates import CandidateOutcome

    if as_json:
        document = {
            "pairs": [entry.model_dump(mode="json") for entry in entries],
            "refused": [{"where": one.where, "what": one.what} for one in refused],
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        for entry in entries:
            what = entry.task or "; ".join(entry.reasons)
            typer.echo(printable(f"{entry.fate.value:<9}  {entry.pair}  {what}", limit=500))
    validating.print_refusals(refused)
    count = Counter(entry.fate for entry in entries)
    parts = [f"{count[outcome]} {outcome.value}" for outcome in CandidateOutcome if count[outcome]]
    pairs = counted(len(entries), "pair")
    typer.echo(f"{pairs} of releases: {', '.join(parts) or 'none'}", err=True)
    # Without any decision, no sandbox or no index answered, which is nobody's wrong input.
    if entries and count[CandidateOutcome.UNDECIDED] == len(entries):
        raise UnavailableError(entries[0].reasons[0])
    bad = [entry for entry in entries if entry.fate is not CandidateOutcome.KEPT]
    if refused or any(not entry.run for entry in bad):
        raise typer.Exit(ExitCode.INPUT)
    if bad:
        raise typer.Exit(ExitCode.CHECK_FAILED)
