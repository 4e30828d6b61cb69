"""One run: what came out of it, what goes on, and its attempts."""

from starlette.requests import Request
from starlette.responses import Response

from agentbench.report.rows import rows, verdict_word
from agentbench.runs.headline import Headline
from agentbench.scoring.pass_at_k import PassRates
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.view.choice import Choice, SortKey, Tries, VerdictWord, choose
from agentbench.view.log_text import tail_of_stage
from agentbench.view.pages import cost_of
from agentbench.view.room import WARNINGS, Room, html
from agentbench.view.shelf import RunNow

_SHOWN_UNDER_WAY = 24
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


def run_page(room: Room, request: Request) -> Response:
    """The whole page."""
    return html("run.html", _values(room, request))


def run_parts(room: Room, request: Request) -> Response:
    """What of it changes with the filter, and while the run goes on."""
    return html("run_parts.html", _values(room, request))


def _values(room: Room, request: Request) -> dict[str, object]:
    run = room.run(request)
    choice = Choice.of(request.query_params)
    asked = run.glance.configuration
    warnings = run.glance.warnings
    return {
        "run": run,
        "glance": run.glance,
        "asked": asked,
        "summary": run.glance.summary,
        "choice": choice,
        "query": choice.query(page=choice.page).removesuffix("?") if choice != Choice() else "",
        "columns": _COLUMNS,
        "verdicts": list(VerdictWord),
        "reasons": sorted(FailureReason, key=lambda reason: reason.precedence),
        "faults": list(Fault),
        "tries": Tries,
        "passes": _passes(run),
        "warnings": warnings[:WARNINGS],
        "more_warnings": len(warnings) - WARNINGS,
        **_attempts(run, choice),
        **_under_way(room, run),
    }


def _passes(run: RunNow) -> list[tuple[PassRates, PassRates | None]]:
    """What k attempts are worth, over all attempts and over those that were judged."""
    summary = run.glance.summary
    if summary is None or len(summary.passes) < 2:
        return []  # one attempt is worth what the rate says
    judged = {rates.k: rates for rates in summary.judged_passes}
    return [(rates, judged.get(rates.k)) for rates in summary.passes]


def _attempts(run: RunNow, choice: Choice) -> dict[str, object]:
    headlines = run.reading.headlines
    every = choice.tries is Tries.ALL
    shown = choose(headlines, range(len(headlines)) if every else run.latest, choice)
    attempts = [headlines[number] for number in shown.numbers]
    return {
        "shown": shown,
        "attempts": [
            {"told": told, "row": row, "verdict": verdict_word(told), "cost": cost_of(told)}
            for told, row in zip(attempts, rows(attempts), strict=True)
        ],
        "has_costs": any(map(_has_cost, run.headlines)),
        "has_tries": len(headlines) > len(run.latest),
    }


def _has_cost(told: Headline) -> bool:
    return told.is_metered


def _under_way(room: Room, run: RunNow) -> dict[str, object]:
    going = run.under_way()
    shown = [
        {"one": one, "tail": tail_of_stage(room.folder, run.folder, one)}
        for one in going[:_SHOWN_UNDER_WAY]
    ]
    return {"under_way": shown, "more_under_way": len(going) - len(shown)}
