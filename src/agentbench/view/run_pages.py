"""The pages of runs: the list, one run with its attempts, and a comparison of two."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from agentbench.errors import InputError
from agentbench.report.attempt_rows import rows, verdict_word
from agentbench.report.comparison import Flip, compare
from agentbench.report.formatting import statement
from agentbench.scoring.statistics import PassRates
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.view.attempt_files import read_stage_tail
from agentbench.view.queries import (
    AttemptQuery,
    PageSlice,
    RetryFilter,
    SortKey,
    VerdictFilter,
    parse_positive_int,
    select_attempts,
)
from agentbench.view.rendering import (
    MAX_WARNINGS,
    PageContext,
    attempt_address,
    cost_of,
    html_response,
)
from agentbench.view.run_cache import LiveRun

_RUNS_PER_PAGE = 50  # runs


def runs_page(room: PageContext, request: Request) -> Response:
    """The whole page."""
    return html_response("runs.html", _list_values(room, request))


def runs_parts(room: PageContext, request: Request) -> Response:
    """The parts that change while runs are live."""
    return html_response("runs_parts.html", _list_values(room, request))


def _list_values(room: PageContext, request: Request) -> dict[str, object]:
    folders = sorted(room.folder.runs(), key=lambda folder: folder.name, reverse=True)
    folders.sort(key=room.cache.began, reverse=True)
    number = parse_positive_int("page", request.query_params, default=1)
    page = PageSlice.of(folders, number, size=_RUNS_PER_PAGE)
    glances = [room.cache.overview(folder) for folder in page.items]
    return {
        "folder": str(room.folder.root),
        "glances": glances,
        "total": len(folders),
        "number": page.number,
        "pages": page.count,
        "query": f"?page={page.number}" if page.number > 1 else "",
        "is_live": any(glance.is_live for glance in glances),
    }


_MAX_RUNNING = 24
_COLUMNS = (
    (SortKey.TASK, "Task"),
    (SortKey.ATTEMPT, "Attempt"),
    (SortKey.VERDICT, "Verdict"),
    (SortKey.REASON, "Reason"),
    (SortKey.FAULT, "Fault"),
    (SortKey.FIXED, "Tests"),
    (SortKey.SECONDS, "Time"),
    (SortKey.COST, "Cost"),
)


def run_page(room: PageContext, request: Request) -> Response:
    """The whole page."""
    return html_response("run.html", _run_values(room, request))


def run_parts(room: PageContext, request: Request) -> Response:
    """The parts that change with the filter and while the run is live."""
    return html_response("run_parts.html", _run_values(room, request))


def _run_values(room: PageContext, request: Request) -> dict[str, object]:
    run = room.run(request)
    choice = AttemptQuery.of(request.query_params)
    asked = run.overview.configuration
    warnings = run.overview.warnings
    return {
        "run": run,
        "glance": run.overview,
        "asked": asked,
        "summary": run.overview.summary,
        "choice": choice,
        "query": choice.query(page=choice.page).removesuffix("?")
        if choice != AttemptQuery()
        else "",
        "columns": _COLUMNS,
        "verdicts": list(VerdictFilter),
        "reasons": sorted(FailureReason, key=lambda reason: reason.precedence),
        "faults": list(Fault),
        "tries": RetryFilter,
        "passes": _pass_rates(run),
        "warnings": warnings[:MAX_WARNINGS],
        "more_warnings": len(warnings) - MAX_WARNINGS,
        **_attempts(run, choice),
        **_running(room, run),
    }


def _pass_rates(run: LiveRun) -> list[tuple[PassRates, PassRates | None]]:
    """pass@k and pass^k, over all attempts and over judged attempts."""
    summary = run.overview.summary
    if summary is None or len(summary.passes) < 2:
        return []  # for one attempt they equal the rate
    judged = {rates.k: rates for rates in summary.judged_passes}
    return [(rates, judged.get(rates.k)) for rates in summary.passes]


def _attempts(run: LiveRun, choice: AttemptQuery) -> dict[str, object]:
    headlines = run.reading.headlines
    every = choice.tries is RetryFilter.ALL
    shown = select_attempts(headlines, range(len(headlines)) if every else run.latest, choice)
    attempts = [headlines[number] for number in shown.numbers]
    return {
        "shown": shown,
        "attempts": [
            {"told": told, "row": row, "verdict": verdict_word(told), "cost": cost_of(told)}
            for told, row in zip(attempts, rows(attempts), strict=True)
        ],
        "has_costs": any(told.is_metered for told in run.headlines),
        "has_tries": len(headlines) > len(run.latest),
    }


def _running(room: PageContext, run: LiveRun) -> dict[str, object]:
    going = run.under_way()
    shown = [
        {"one": one, "tail": read_stage_tail(room.folder, run.folder, one)}
        for one in going[:_MAX_RUNNING]
    ]
    return {"under_way": shown, "more_under_way": len(going) - len(shown)}


_MAX_OFFERED = 200  # runs to choose from
_MAX_LISTED = 500  # tasks of one kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipView:
    """A task with different rates, with links to its attempts."""

    flip: Flip
    first: tuple[tuple[str, str], ...]  # the attempt's name and address
    second: tuple[tuple[str, str], ...]


def compare_page(room: PageContext, request: Request) -> Response:
    """The whole page; without two runs a form to choose them.

    Raises:
        PageNotFoundError: a run does not exist.
    """
    names = [request.query_params.get(name, "") for name in ("first", "second")]
    folders = sorted(room.folder.runs(), key=room.cache.began, reverse=True)
    values: dict[str, object] = {
        "names": names,
        "offered": [folder.name for folder in folders[:_MAX_OFFERED]],
        "comparison": None,
        "problem": "",
    }
    if not all(names):
        return html_response("compare.html", values)
    runs = [room.cache.run(room.folder.run(name)) for name in names]
    try:
        values |= _comparison_values(*runs)
    except InputError as error:  # without a common task
        values["problem"] = str(error)
    return html_response("compare.html", values)


def _comparison_values(first: LiveRun, second: LiveRun) -> dict[str, object]:
    comparison = compare(first.headlines, second.headlines)
    return {
        "first": first,
        "second": second,
        "comparison": comparison,
        "overall": statement(comparison.overall),
        "judged": statement(comparison.judged) if comparison.judged is not None else None,
        "gained": _flip_views(comparison.gained, first, second),
        "lost": _flip_views(comparison.lost, first, second),
        "listed": _MAX_LISTED,
    }


def _flip_views(flips: tuple[Flip, ...], first: LiveRun, second: LiveRun) -> list[FlipView]:
    shown = flips[:_MAX_LISTED]
    links = [_links(run, {flip.task_id for flip in shown}) for run in (first, second)]
    return [
        FlipView(
            flip=flip,
            first=tuple(links[0].get(flip.task_id, ())),
            second=tuple(links[1].get(flip.task_id, ())),
        )
        for flip in shown
    ]


def _links(run: LiveRun, tasks: set[str]) -> dict[str, list[tuple[str, str]]]:
    links: dict[str, list[tuple[str, str]]] = {}
    for told in run.headlines:
        if told.task_id in tasks:
            name = told.place.partition("/")[2]
            address = attempt_address(run.name, told.place)
            links.setdefault(told.task_id, []).append((name, address))
    return links
