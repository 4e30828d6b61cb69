"""`agentbench report --format html`: the web page's tables in one file, without a server."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import chain, islice
from typing import TextIO

from markupsafe import Markup

from agentbench.core.display_text import printable
from agentbench.errors import InputError
from agentbench.extensions.view import rendering
from agentbench.extensions.view.run_tags import RunTags, compare_tags, count_tags
from agentbench.report import formatting
from agentbench.report.attempt_columns import rows
from agentbench.report.comparison import compare
from agentbench.report.heat_map import heat_map
from agentbench.report.leaderboard import LETTERS_NOTE, Entrant, label_runs, leaderboard
from agentbench.report.reported_run import ReportedRun

# Browsers display a table of so many rows smoothly.
MAX_ATTEMPT_ROWS = 10_000
_MAX_DETAIL = 400  # characters; `agentbench show` prints all of it
_MAX_NAME = 80


def html_chunks(
    runs: Sequence[Entrant],
    *,
    most_rows: int = MAX_ATTEMPT_ROWS,
    tags: Sequence[Sequence[object]] | None = None,
) -> Iterator[str]:
    """The HTML document of one or more runs; two are compared in their order.

    Args:
        runs: The runs, in the order of a comparison of two.
        most_rows: The most rows of the table of attempts.
        tags: The tags of behaviour of each run's attempts; None: the page says nothing of them.
    """
    style = files("agentbench.extensions.view").joinpath("static/view.css").read_text("utf-8")
    board = leaderboard(runs)
    by_label = dict(zip(label_runs(runs), runs, strict=True))
    ranked = [by_label[entry.label] for entry in board.entries]
    behaviour: dict[str, object] | None = None
    if tags is not None:
        tags_of = {id(run): own for run, own in zip(runs, tags, strict=True)}
        behaviour = {
            "counts": count_tags([tags_of[id(run)] for run in ranked]),
            "differences": compare_tags(*tags) if len(tags) == 2 else None,
            "unreadable": sum(len(run.attempts) for run in runs) - sum(map(len, tags)),
        }
    attempts = [run.attempts for run in ranked]
    labels = [printable(entry.label, limit=_MAX_NAME) for entry in board.entries]
    total = sum(map(len, attempts))
    limits = {"agent": _MAX_NAME, "model": _MAX_NAME, "detail": _MAX_DETAIL}
    return rendering.page_chunks(
        "saved.html",
        style=Markup(style),
        policy=content_policy(style),
        board=board,
        labels=labels,
        runs=ranked,
        letters=LETTERS_NOTE,
        pairs=[
            (labels[one.first], labels[one.second], one.tasks, formatting.p_value(one.p_value))
            for one in board.pairs
        ],
        heat=heat_map(attempts),
        comparison=_comparison(runs) if len(runs) == 2 else None,
        behaviour=behaviour,
        rows=(
            {
                name: printable(text, limit=limits[name]) if name in limits else text
                for name, text in row.items()
            }
            for row in rows(list(islice(chain.from_iterable(attempts), most_rows)))
        ),
        attempts=total,
        more_rows=total - most_rows,
    )


def write_page(runs: Sequence[ReportedRun], target: TextIO) -> None:
    """Write the document of runs: `report --format html`."""
    target.writelines(html_chunks([run.entrant for run in runs]))


def write_page_with_behaviour(runs: Sequence[ReportedRun], target: TextIO) -> None:
    """Write the document of runs, with how often their agents did what."""
    tags = []
    for run in runs:
        own = RunTags(run.folder)
        own.read(run.reading, run.latest, most=len(run.latest))
        tags.append(own.of(run.latest))
    target.writelines(html_chunks([run.entrant for run in runs], tags=tags))


def content_policy(style: str) -> str:
    """The policy that allows one inline style sheet, by its digest.

    Such a page sends no requests, runs no scripts, and ignores forms and base URLs.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _comparison(runs: Sequence[Entrant]) -> dict[str, object]:
    labels = [printable(label, limit=_MAX_NAME) for label in label_runs(runs)]
    try:
        made = compare(runs[0].attempts, runs[1].attempts)
    except InputError as error:
        # Two runs without a common task still have a page of their own numbers.
        return {"labels": labels, "made": None, "refusal": str(error)}
    sides = [("all attempts", made.first.overall, made.second.overall, made.overall)]
    if made.judged is not None:
        judged = made.first.judged, made.second.judged, made.judged
        sides.append(("excluding task and infrastructure errors", *judged))
    return {
        "labels": labels,
        "made": made,
        "sides": [(name, one, two, formatting.statement(each)) for name, one, two, each in sides],
    }
