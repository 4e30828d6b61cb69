"""Renders the page in chunks, with its content security policy."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from agentbench.core.display_text import printable
from agentbench.errors import InputError
from agentbench.report import formatting
from agentbench.report.attempt_text import AttemptRow, rows
from agentbench.report.comparison import compare
from agentbench.report.formatting import statement
from agentbench.report.html.attempt_plots import reason_plot, time_plot
from agentbench.report.html.rate_plots import cost_plot, heat_map, rate_plot
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankedRuns:
    """Runs in the order of the leaderboard, which all tables and pictures use."""

    board: Leaderboard
    labels: Sequence[str]
    runs: Sequence[TimedRun]


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
        **_content(_rank(runs), runs, most_rows),
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


def _rank(runs: Sequence[TimedRun]) -> _RankedRuns:
    board = leaderboard(runs)
    by_label = dict(zip(label_runs(runs), runs, strict=True))
    return _RankedRuns(
        board=board,
        labels=[printable(entry.label, limit=_MAX_LABEL) for entry in board.entries],
        runs=[by_label[entry.label] for entry in board.entries],
    )


def _content(ranked: _RankedRuns, asked: Sequence[TimedRun], most_rows: int) -> dict[str, object]:
    attempts = [run.attempts for run in ranked.runs]
    metered = [any(attempt.is_metered for attempt in own) for own in attempts]
    timed = list(zip(ranked.labels, ranked.runs, strict=True))
    return {
        "board": ranked.board,
        "labels": ranked.labels,
        "letters": LETTERS_NOTE,
        "runs": ranked.runs,
        "rates": rate_plot(ranked.board, ranked.labels),
        "reasons": reason_plot(ranked.labels, attempts),
        "metered": metered,
        "costs": cost_plot(ranked.board, ranked.labels, metered),
        "times": [
            time_plot(f"times-{number}", label, run)
            for number, (label, run) in enumerate(timed[:_MAX_TIME_PLOTS], start=1)
        ],
        "passes": _passes(ranked),
        "heat": heat_map(attempts),
        "comparison": _comparison(asked) if len(asked) == 2 else None,
        "lines": attempt_lines(ranked.runs, most=most_rows),
        "attempts": sum(map(len, attempts)),
        "most_lines": most_rows,
        "most_times": _MAX_TIME_PLOTS,
    }


class _PassTable(NamedTuple):
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def _passes(ranked: _RankedRuns) -> _PassTable:
    """pass@k and pass^k for every k of some run."""
    rates = [{each.k: each for each in entry.summary.passes} for entry in ranked.board.entries]
    ks = sorted(set().union(*rates))
    rows = []
    for label, own in zip(ranked.labels, rates, strict=True):
        either = [formatting.percent(own[k].any_of_k) if k in own else "" for k in ks]
        every = [formatting.percent(own[k].all_of_k) if k in own else "" for k in ks]
        rows += [(label, "pass@k", *either), (label, "pass^k", *every)]
    header = ("agent", "", *(f"k = {k}" for k in ks))
    return _PassTable(header=header, rows=rows if ks[1:] else ())


def _comparison(runs: Sequence[TimedRun]) -> dict[str, object]:
    """The comparison of two runs in their given order, or why there is none."""
    labels = [printable(label, limit=_MAX_LABEL) for label in label_runs(runs)]
    try:
        made = compare(runs[0].attempts, runs[1].attempts)
    except InputError as error:
        return {"labels": labels, "made": None, "refusal": str(error)}
    return {
        "labels": labels,
        "made": made,
        "overall": statement(made.overall),
        "judged": statement(made.judged) if made.judged is not None else None,
    }


def content_policy(*, style: str, script: str) -> str:
    """The policy that allows one inline style sheet and one inline script, by their digests.

    Such a page sends no requests, runs no other scripts, and ignores forms and base URLs.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
