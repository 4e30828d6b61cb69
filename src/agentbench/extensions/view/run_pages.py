"""The pages of runs: the list, and one run with its attempts."""

from starlette.requests import Request

from agentbench.extensions.view import queries, rendering
from agentbench.extensions.view.attempt_files import read_stage_tail
from agentbench.extensions.view.queries import AttemptQuery, PageSlice, RetryFilter
from agentbench.extensions.view.rendering import PageContext, TemplateValues
from agentbench.report.attempt_columns import cost_text, rows, verdict_word
from agentbench.scoring.statistics import PassRates
from agentbench.taxonomy import FailureReason, Fault

_RUNS_PER_PAGE = 50
_MAX_RUNNING = 24


def list_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of the list of runs."""
    folders = sorted(context.folder.runs(), key=lambda folder: folder.name, reverse=True)
    folders.sort(key=context.cache.began, reverse=True)
    number = queries.parse_positive_int("page", request.query_params, default=1)
    page = PageSlice.of(folders, number, size=_RUNS_PER_PAGE)
    overviews = [context.cache.overview(folder) for folder in page.items]
    return {
        "folder": str(context.folder.root),
        "page": page,
        "overviews": overviews,
        "query": f"?page={page.number}" if page.number > 1 else "",
        "is_live": any(overview.is_live for overview in overviews),
    }


def run_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of the page of one run."""
    run = context.run(request)
    query = AttemptQuery.of(request.query_params)
    warnings, summary = run.overview.warnings, run.overview.summary
    passes: list[tuple[PassRates, PassRates | None]] = []
    # pass@1 equals the rate.
    if summary is not None and len(summary.passes) > 1:
        judged = {rates.k: rates for rates in summary.judged_passes}
        passes = [(rates, judged.get(rates.k)) for rates in summary.passes]
    running = run.running_attempts()
    every = run.reading.summaries
    numbers = range(len(every)) if query.tries is RetryFilter.ALL else run.latest
    page = queries.select_attempts(every, numbers, query)
    attempts = [every[number] for number in page.items]
    return {
        "run": run,
        "overview": run.overview,
        "configuration": run.overview.configuration,
        "summary": summary,
        "choice": query,
        "query": query.query(page=query.page).removesuffix("?") if query != AttemptQuery() else "",
        "columns": queries.SORT_COLUMNS,
        "verdicts": list(queries.VerdictFilter),
        "reasons": sorted(FailureReason, key=lambda reason: reason.precedence),
        "faults": list(Fault),
        "passes": passes,
        "warnings": warnings[: rendering.MAX_WARNINGS],
        "more_warnings": len(warnings) - rendering.MAX_WARNINGS,
        "page": page,
        "attempts": [
            {
                "summary": attempt,
                "row": row,
                "verdict": verdict_word(attempt),
                "cost": cost_text(attempt, unit="$"),
            }
            for attempt, row in zip(attempts, rows(attempts), strict=True)
        ],
        # A cost where no model was used, or where nobody counted, would look like no cost.
        "has_costs": any(attempt.is_metered for attempt in run.summaries),
        "running": [
            {"attempt": attempt, "tail": read_stage_tail(context.folder, run.folder, attempt)}
            for attempt in running[:_MAX_RUNNING]
        ],
        "more_running": max(0, len(running) - _MAX_RUNNING),
    }
