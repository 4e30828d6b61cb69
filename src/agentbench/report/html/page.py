"""The page: what is on it, put into the template piece by piece."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from agentbench.errors import InputError
from agentbench.report.comparison import Comparison, compare
from agentbench.report.harmless import harmless
from agentbench.report.html import amounts
from agentbench.report.html.attempt_table import MOST_ROWS, attempt_lines
from agentbench.report.html.cost_plot import cost_plot
from agentbench.report.html.heat_map import heat_map
from agentbench.report.html.picture import Picture
from agentbench.report.html.policy import content_policy
from agentbench.report.html.rate_plot import rate_plot
from agentbench.report.html.reason_plot import reason_plot
from agentbench.report.html.shown_run import ShownRun
from agentbench.report.html.time_plot import time_plot
from agentbench.report.leaderboard import LETTERS, Entrant, Leaderboard, label_runs, leaderboard
from agentbench.report.significance import Statement, statement

if TYPE_CHECKING:
    from jinja2 import Environment

_LABEL = 80  # characters of a run's label
_TIME_LINES = 12
_BUFFERED = 64  # pieces of the template's own that are handed on as one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """Runs in the order of the leaderboard, which is that of every table and picture."""

    board: Leaderboard
    labels: Sequence[str]
    runs: Sequence[ShownRun]


def pieces(runs: Sequence[ShownRun], *, most_rows: int = MOST_ROWS) -> Iterator[str]:
    """The document of some runs, at least one.

    Args:
        runs: In the order in which two of them are compared.
        most_rows: Of the table of attempts.
    """
    environment = _environment()
    style, script = _text("page.css"), _text("page.js")
    stream = environment.get_template("page.html.jinja").stream(
        style=style,
        script=script,
        policy=content_policy(style=style, script=script),
        **_content(_place(runs), runs, most_rows),
    )
    stream.enable_buffering(_BUFFERED)
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
    environment.filters |= {filter_.__name__: filter_ for filter_ in amounts.FILTERS}
    return environment


def _text(name: str) -> str:
    return files("agentbench.report.html").joinpath(name).read_text("utf-8")


def _place(runs: Sequence[ShownRun]) -> _Placed:
    entrants = [Entrant(name=run.name, attempts=run.attempts) for run in runs]
    board = leaderboard(entrants)
    by_label = dict(zip(label_runs(entrants), runs, strict=True))
    return _Placed(
        board=board,
        labels=[harmless(standing.label, limit=_LABEL) for standing in board.standings],
        runs=[by_label[standing.label] for standing in board.standings],
    )


def _content(placed: _Placed, asked: Sequence[ShownRun], most_rows: int) -> dict[str, object]:
    """What the template's names stand for."""
    attempts = [run.attempts for run in placed.runs]
    metered = [any(attempt.is_metered for attempt in own) for own in attempts]
    return {
        "board": placed.board,
        "labels": placed.labels,
        "letters": LETTERS,
        "runs": placed.runs,
        "rates": rate_plot(placed.board, placed.labels),
        "reasons": reason_plot(placed.labels, attempts),
        "metered": metered,
        "costs": cost_plot(placed.board, placed.labels, metered),
        "times": list(_times(placed)),
        "passes": _passes(placed),
        "heat": heat_map(attempts),
        "comparison": _Compared.of(asked) if len(asked) == 2 else None,
        "lines": attempt_lines(placed.labels, placed.runs, most=most_rows),
        "attempts": sum(map(len, attempts)),
        "most_lines": most_rows,
        "most_times": _TIME_LINES,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def _passes(placed: _Placed) -> _Table:
    """What k attempts are worth, for every k that some run has."""
    told = [
        {rate.k: rate for rate in standing.summary.passes} for standing in placed.board.standings
    ]
    ks = sorted(set().union(*told))
    header = ("agent", "", *(f"k = {k}" for k in ks))
    rows = []
    for label, rates in zip(placed.labels, told, strict=True):
        either = [amounts.percent(rates[k].any_of_k) if k in rates else "" for k in ks]
        every = [amounts.percent(rates[k].all_of_k) if k in rates else "" for k in ks]
        rows += [(label, "pass@k", *either), (label, "pass^k", *every)]
    return _Table(header=header, rows=rows if ks[1:] else ())


def _times(placed: _Placed) -> Iterator[Picture]:
    shown = zip(placed.labels[:_TIME_LINES], placed.runs, strict=False)
    for number, (label, run) in enumerate(shown, start=1):
        yield time_plot(f"times-{number}", label, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Two runs in the order that they were asked for."""

    labels: Sequence[str]
    made: Comparison | None
    refusal: str  # why there is none
    overall: Statement | None = None
    judged: Statement | None = None

    @classmethod
    def of(cls, runs: Sequence[ShownRun]) -> "_Compared":
        entrants = [Entrant(name=run.name, attempts=run.attempts) for run in runs]
        labels = [harmless(label, limit=_LABEL) for label in label_runs(entrants)]
        try:
            made = compare(runs[0].attempts, runs[1].attempts)
        except InputError as error:
            return cls(labels=labels, made=None, refusal=str(error))
        return cls(
            labels=labels,
            made=made,
            refusal="",
            overall=statement(made.overall),
            judged=statement(made.judged) if made.judged is not None else None,
        )
