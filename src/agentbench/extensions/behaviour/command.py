"""`agentbench behaviour`: what agents did, as tags with evidence."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import completion, options
from agentbench.core import extras, host
from agentbench.core.display_text import printable
from agentbench.errors import InputError
from agentbench.extensions.behaviour.counts import TagDifference, compare_tags, count_tags
from agentbench.extensions.behaviour.tags import MEANINGS, AttemptBehaviour, Sign, Tag
from agentbench.tasks.problem import is_selected

_MAX_CHARACTERS = 160


def behaviour(
    run: Annotated[
        str,
        typer.Argument(
            help="A run's folder, its id, or 'last'.", autocompletion=completion.run_names
        ),
    ],
    other: Annotated[
        str | None,
        typer.Argument(
            help="A second run of the same tasks, to compare with.",
            autocompletion=completion.run_names,
        ),
    ] = None,
    tag: Annotated[
        Tag | None, typer.Option("--tag", help="List only attempts with this tag.")
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Do not list the attempts.")] = False,
    filter_globs: options.Filter = None,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """Tell what the agent did in each attempt: tags, each with the steps that show it.

    With a second run: which tags differ between the two beyond chance. Reads the files of runs,
    and runs nothing. Behaviour never changes a verdict; docs/behaviour.md defines each tag.

    Example: agentbench behaviour last --tag loop
    """
    if other is not None:
        extras.require("agentbench behaviour RUN OTHER", extras.STATISTICS)
    from agentbench.runs.store.store import find_run

    folders = [find_run(name, runs_dir) for name in (run, other) if name is not None]
    runs = [behaviours_in(folder, filter_globs) for folder in folders]
    differences = compare_tags(*runs) if other is not None else []
    shown = [[a for a in attempts if tag is None or tag in a.tags] for attempts in runs]
    if as_json:
        document: dict[str, object] = {
            "runs": [
                {
                    "counts": [row.model_dump(mode="json") for row in count_tags(attempts)],
                    "attempts": [each.model_dump(mode="json") for each in listed],
                }
                for attempts, listed in zip(runs, shown, strict=True)
            ],
            "differences": [row.model_dump(mode="json") for row in differences],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    for attempts, listed in zip(runs, shown, strict=True):
        for each in () if counts or other is not None else listed:
            _print_attempt(each, tag)
        print_counts(attempts)
    if other is not None:
        print_differences(differences)


def behaviours_in(folder: Path, globs: Sequence[str] | None = None) -> list[AttemptBehaviour]:
    """The behaviours of the attempts of a run.

    Raises:
        InputError: it is not a run, or has no such attempt.
    """
    from agentbench.audit.run_facts import open_run
    from agentbench.extensions.behaviour.rules import behaviour_of_attempts
    from agentbench.tasks.mirror import Mirrors

    run = open_run(folder)
    behaviour_of = behaviour_of_attempts(run, Mirrors(host.usable_cache_dir() / "mirrors"))
    found = [behaviour_of(record) for record in run.latest if is_selected(record.task_id, globs)]
    if not found:
        raise InputError(f"{run.folder}: expected an attempt to read, found none")
    return found


def print_counts_of(folder: Path) -> None:
    """Print how many attempts of a run have each tag."""
    print_counts(behaviours_in(folder))


def print_differences_of(folder: Path, other: Path) -> None:
    """Print which tags differ between two runs."""
    print_differences(compare_tags(behaviours_in(folder), behaviours_in(other)))


def _print_attempt(attempt: AttemptBehaviour, only: Tag | None) -> None:
    found = [each for each in attempt.found if only is None or each.tag is only]
    typer.echo(printable(f"{attempt.task_id} {attempt.attempt}{'' if found else ': no tag'}"))
    for each in found:
        typer.echo(f"  {each.tag}")
        for sign in each.signs:
            typer.echo(f"    {sign_text(sign)}")


def sign_text(sign: Sign) -> str:
    """A sign on one line."""
    where = [f"step {sign.step}"] if sign.step is not None else []
    where += [text for text in (sign.file, sign.test) if text]
    head = f"{', '.join(where)}: " if where else ""
    command = f"  ({sign.command})" if sign.command else ""
    return printable(f"{head}{sign.what}{command}", limit=_MAX_CHARACTERS)


def print_counts(attempts: Sequence[AttemptBehaviour]) -> None:
    """Print how many attempts have each tag, and on stderr what cannot be known."""
    from agentbench.report.text_table import TableColumn, console_of, print_rows

    rows = [
        (
            str(row.tag),
            str(MEANINGS[row.tag].group),
            f"{row.count} of {row.known}",
            f"{row.count / row.known:.0%}",
            f"{row.low:.0%} to {row.high:.0%}",
        )
        for row in count_tags(attempts)
    ]
    if rows:
        columns = [TableColumn(name="tag"), TableColumn(name="about")]
        numbers = ("attempts", "share", "95 % interval")
        columns += [TableColumn(name=name, is_right=True) for name in numbers]
        print_rows(columns, rows, console_of(sys.stdout))
    reasons: dict[str, set[Tag]] = {}
    for attempt in attempts:
        for tag, why in attempt.unknown.items():
            reasons.setdefault(why, set()).add(tag)
    for why, tags in reasons.items():
        names = ", ".join(sorted(tags))
        typer.echo(printable(f"cannot be known for some attempts, since {why}: {names}"), err=True)


def print_differences(differences: Sequence[TagDifference]) -> None:
    """Print the tags of two runs, and which differ beyond chance."""
    from agentbench.report.text_table import TableColumn, console_of, print_rows

    rows = [
        (
            str(row.tag),
            f"{row.first:.0%}",
            f"{row.second:.0%}",
            str(row.tasks),
            f"{row.p_value:.3f}",
            "differs" if row.is_significant else "may be chance",
        )
        for row in differences
    ]
    if not rows:
        typer.echo("neither run has a tag at a task that both have")
        return
    columns = [TableColumn(name="tag")]
    numbers = ("first run", "second run", "tasks", "p, corrected")
    columns += [TableColumn(name=name, is_right=True) for name in numbers]
    print_rows([*columns, TableColumn(name="")], rows, console_of(sys.stdout))
    typer.echo(
        "each task is compared with itself; p is corrected for the number of tags (Holm)", err=True
    )
