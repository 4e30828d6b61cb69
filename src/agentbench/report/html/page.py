"""Renders the page in chunks, with its content security policy."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from agentbench.core.display_text import printable
from agentbench.errors import InputError
from agentbench.report import formatting
from agentbench.report.attempt_text import AttemptRow, rows
from agentbench.report.comparison import compare
from agentbench.report.html import attempt_plots, rate_plots
from agentbench.report.leaderboard import LETTERS_NOTE, Leaderboard, label_runs, leaderboard
from agentbench.report.reported_run import TimedRun

if TYPE_CHECKING:
    from jinja2 import Environment


MAX_ATTEMPT_ROWS = 10_000
"""The most rows of the table, which browsers display smoothly."""

_MAX_DETAIL = 400  # characters; `agentbench show` prints all of it
_MAX_NAME = 80
_MAX_LABEL = 80  # characters of a run's label
_MAX_TIME_PLOTS = 12
_BUFFERED_CHUNKS = 64  # chunks of the template that are joined
_TEMPLATE_FILTERS = (
    formatting.share,
    formatting.interval,
    formatting.usd,
    formatting.whole,
    formatting.seconds,
    formatting.p_value,
    formatting.percent,
)


class AttemptLine(NamedTuple):
    """One row of the table."""

    began: str
    row: AttemptRow


def attempt_lines(runs: Sequence[TimedRun], *, most: int) -> Iterator[AttemptLine]:
    """A row for each attempt, run by run, up to a limit."""
    attempts = ((run.attempts, run.starts) for run in runs)
    timed = (pair for own in attempts for pair in zip(*own, strict=True))
    for attempt, start in islice(timed, most):
        (row,) = rows([attempt])
        yield AttemptLine(f"{start:%Y-%m-%d %H:%M:%S}", _shortened(row))


def _shortened(row: AttemptRow) -> AttemptRow:
    return row._replace(
        agent=printable(row.agent, limit=_MAX_NAME),
        model=printable(row.model, limit=_MAX_NAME),
        detail=printable(row.detail, limit=_MAX_DETAIL),
    )


def html_chunks(runs: Sequence[TimedRun], *, most_rows: int = MAX_ATTEMPT_ROWS) -> Iterator[str]:
    """The HTML document of one or more runs; two are compared in their order.

    Args:
        runs: The runs, in the order of a comparison of two.
        most_rows: The most rows of the table of attempts.
    """
    environment = _environment()
    style, script = _text("page.css"), _text("page.js")
    stream = environment.get_template("page.html.jinja").stream(
        style=style,
        script=script,
        policy=content_policy(style=style, script=script),
        **_content(runs, most_rows),
    )
    stream.enable_buffering(_BUFFERED_CHUNKS)
    yield from stream


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("agentbench.report.html", package_path=""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {each.__name__: each for each in _TEMPLATE_FILTERS}
    return environment


def _text(name: str) -> str:
    return files("agentbench.report.html").joinpath(name).read_text("utf-8")


def _content(runs: Sequence[TimedRun], most_rows: int) -> dict[str, object]:
    """The values of the template; tables and pictures have the order of the leaderboard."""
    ranking = leaderboard(runs)
    labels = [printable(entry.label, limit=_MAX_LABEL) for entry in ranking.entries]
    by_label = dict(zip(label_runs(runs), runs, strict=True))
    ranked = [by_label[entry.label] for entry in ranking.entries]
    attempts = [run.attempts for run in ranked]
    metered = [any(attempt.is_metered for attempt in own) for own in attempts]
    timed = list(zip(labels, ranked, strict=True))
    return {
        "board": ranking,
        "labels": labels,
        "letters": LETTERS_NOTE,
        "runs": ranked,
        "rates": rate_plots.rate_plot(ranking, labels),
        "reasons": attempt_plots.reason_plot(labels, attempts),
        "metered": metered,
        "costs": rate_plots.cost_plot(ranking, labels, metered),
        "times": [
            attempt_plots.time_plot(f"times-{number}", label, run)
            for number, (label, run) in enumerate(timed[:_MAX_TIME_PLOTS], start=1)
        ],
        "passes": _passes(ranking, labels),
        "heat": rate_plots.heat_map(attempts),
        "comparison": _comparison(runs) if len(runs) == 2 else None,
        "lines": attempt_lines(ranked, most=most_rows),
        "attempts": sum(map(len, attempts)),
        "most_lines": most_rows,
        "most_times": _MAX_TIME_PLOTS,
    }


def _passes(ranking: Leaderboard, labels: Sequence[str]) -> dict[str, object]:
    """The table of pass@k and pass^k for every k of some run."""
    rates = [{each.k: each for each in entry.summary.passes} for entry in ranking.entries]
    ks = sorted(set().union(*rates))
    rows = []
    for label, own in zip(labels, rates, strict=True):
        either = [formatting.percent(own[k].any_of_k) if k in own else "" for k in ks]
        every = [formatting.percent(own[k].all_of_k) if k in own else "" for k in ks]
        rows += [(label, "pass@k", *either), (label, "pass^k", *every)]
    header = ("agent", "", *(f"k = {k}" for k in ks))
    return {"header": header, "rows": rows if ks[1:] else ()}


def _comparison(runs: Sequence[TimedRun]) -> dict[str, object]:
    """The comparison of two runs in their given order, or why there is none."""
    labels = [printable(label, limit=_MAX_LABEL) for label in label_runs(runs)]
    try:
        comparison = compare(runs[0].attempts, runs[1].attempts)
    except InputError as error:
        return {"labels": labels, "made": None, "refusal": str(error)}
    return {
        "labels": labels,
        "made": comparison,
        "overall": formatting.statement(comparison.overall),
        "judged": formatting.statement(comparison.judged)
        if comparison.judged is not None
        else None,
    }


def content_policy(*, style: str, script: str) -> str:
    """The policy that allows one inline style sheet and one inline script, by their digests.

    Such a page sends no requests, runs no other scripts, and ignores forms and base URLs.
    """
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
