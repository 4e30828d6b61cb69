"""The pages that compare runs: the leaderboard with the matrix of tasks, and two runs.

Runs are comparable if they have the same tasks with the same contents. A run is ranked once it has
an attempt at each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request

from agentbench.errors import InputError
from agentbench.extensions.view import rendering
from agentbench.extensions.view.behaviour_section import (
    BehaviourSection,
    behaviour_section,
    require_behaviour,
    wants_behaviour,
)
from agentbench.extensions.view.queries import BadQueryError
from agentbench.extensions.view.rendering import PageContext, TemplateValues
from agentbench.extensions.view.run_cache import LiveRun
from agentbench.extensions.view.run_tags import has_tags
from agentbench.extensions.view.runs_folder import PageNotFoundError
from agentbench.report.attempt_columns import verdict_word
from agentbench.report.comparison import Comparison, compare
from agentbench.report.formatting import statement
from agentbench.report.heat_map import heat_map
from agentbench.report.leaderboard import (
    LETTERS_NOTE,
    Entrant,
    Leaderboard,
    label_runs,
    leaderboard,
)
from agentbench.report.summary import TAMPERED
from agentbench.runs.store.summaries import AttemptSummary

# Every pair of ranked runs is tested, so the time grows with their square.
_MAX_RANKED = 20
_MAX_UNRANKED = 50
_MAX_SETS = 30
_MAX_OFFERED = 200  # runs to choose from
_MAX_LISTED = 500  # tasks of one kind
_MIXED = "mixed"  # the verdict if only some attempts resolved the task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """Runs of the same tasks, the newest first."""

    digest: str
    tasks: int
    first_tasks: Sequence[str]
    folders: Sequence[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """The attempts of one run at one task."""

    run: str
    verdict: str  # resolved, failed, quarantined or mixed
    resolved: int
    attempts: Sequence[AttemptSummary]
    address: str

    @classmethod
    def of(cls, run: str, attempts: Sequence[AttemptSummary]) -> "MatrixCell":
        """The cell of some attempts; its address is that of the attempt if it is the only one."""
        first, *others = attempts
        resolved = sum(each.resolved for each in attempts)
        is_mixed = 0 < resolved < len(attempts)
        return cls(
            run=run,
            # One quarantined attempt must not hide among failed ones.
            verdict=_MIXED if is_mixed else max(verdict_word(each) for each in attempts),
            resolved=resolved,
            attempts=attempts,
            address=rendering.task_address(run, first.task_id)
            if others
            else rendering.attempt_address(run, first.folder_name),
        )

    @property
    def links(self) -> Sequence[tuple[str, str]]:
        folders = [each.folder_name for each in self.attempts]
        return [
            (one.partition("/")[2], rendering.attempt_address(self.run, one)) for one in folders
        ]

    @property
    def notes(self) -> Sequence[str]:
        """The failure reasons, each once, and whether attempts are quarantined or tampered."""
        reasons = (each.failure_reason for each in self.attempts)
        quarantined = [one for one in self.attempts if one.quarantined]
        return [
            *dict.fromkeys(reason for reason in reasons if reason),
            *(["quarantined"] if quarantined and len(self.attempts) > 1 else ()),
            *([TAMPERED] if any(one.tampered for one in self.attempts) else ()),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRuns:
    """The runs of one set of tasks: those that can be ranked, and why the others cannot."""

    sets: Sequence[TaskSet]
    chosen: TaskSet | None  # None: there are no runs
    ranked: Sequence[LiveRun] = ()
    unranked: Sequence[tuple[Path, str]] = ()


def leaderboard_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of the leaderboard of one set of tasks, by default that of the newest runs.

    Raises:
        BadQueryError: no run has the requested tasks.
    """
    runs = _ranked_runs(context, request)
    values: dict[str, object] = {
        "sets": runs.sets[:_MAX_SETS],
        "chosen": runs.chosen,
        "board": None,
        "unranked": runs.unranked[:_MAX_UNRANKED],
        "more_unranked": len(runs.unranked) - _MAX_UNRANKED,
        "has_behaviour": has_tags(),
        "behaviour": None,
    }
    if runs.ranked:
        values |= _board_values(runs.ranked)
        if wants_behaviour(request):
            values["behaviour"] = _leaderboard_section(runs)
    return values


def leaderboard_behaviour(context: PageContext, request: Request) -> TemplateValues:
    """The values of the part of the leaderboard about behaviour.

    Raises:
        BadQueryError: no run has the requested tasks.
        PageNotFoundError: there is no such part.
    """
    require_behaviour()
    runs = _ranked_runs(context, request)
    if not runs.ranked:
        raise PageNotFoundError("No run has an attempt at each of its tasks.")
    return {"behaviour": _leaderboard_section(runs)}


def _leaderboard_section(runs: RankedRuns) -> BehaviourSection:
    assert runs.chosen is not None
    board, ranked = _ranking(runs.ranked, with_groups=False)
    return behaviour_section(
        ranked,
        [f"{number} {entry.label}" for number, entry in enumerate(board.entries, 1)],
        page="/leaderboard",
        query=urlencode({"tasks": runs.chosen.digest}),
        is_comparison=False,
    )


def _ranked_runs(context: PageContext, request: Request) -> RankedRuns:
    sets = _task_sets(context)
    chosen = sets[0] if sets else None
    if digest := request.query_params.get("tasks", ""):
        chosen = next((each for each in sets if each.digest == digest), None)
        if chosen is None:
            known = ", ".join(each.digest for each in sets[:_MAX_SETS]) or "none, there are no runs"
            raise BadQueryError(f"tasks: found {digest!r}; expected one of {known}.")
    if chosen is None:
        return RankedRuns(sets=sets, chosen=None)
    ranked: list[LiveRun] = []
    unranked = []
    for folder in chosen.folders:
        if len(ranked) == _MAX_RANKED:
            found: LiveRun | str = f"is older than the newest {_MAX_RANKED} ranked runs"
        else:
            found = _ranked_run(context, folder, chosen.tasks)
        if isinstance(found, str):
            unranked.append((folder, found))
        else:
            ranked.append(found)
    return RankedRuns(sets=sets, chosen=chosen, ranked=ranked, unranked=unranked)


def _task_sets(context: PageContext) -> list[TaskSet]:
    """The runs by their tasks: sets with several runs first, then those with the newest runs."""
    folders: dict[tuple[str, int], list[Path]] = {}
    for folder in sorted(context.folder.runs(), key=context.cache.began, reverse=True):
        plan = context.cache.plan(folder)
        if plan.task_set:
            folders.setdefault((plan.task_set, plan.tasks), []).append(folder)
    sets = [
        TaskSet(
            digest=digest,
            tasks=tasks,
            first_tasks=context.cache.plan(own[0]).first_tasks,
            folders=own,
        )
        for (digest, tasks), own in folders.items()
    ]
    return sorted(sets, key=lambda each: len(each.folders) == 1)


def _ranked_run(context: PageContext, folder: Path, tasks: int) -> LiveRun | str:
    """A run to rank, or why it is not."""
    # The rate of a rerun is that of the hard attempts.
    if context.cache.plan(folder).is_rerun:
        return "repeats only the failed attempts of another run"
    try:
        run = context.cache.run(folder)
    except InputError as error:
        return f"cannot be read: {error}"
    tried = len({attempt.task_id for attempt in run.summaries})
    return run if tried == tasks else f"has attempts at {tried} of {tasks} tasks"


def _ranking(
    runs: Sequence[LiveRun], *, with_groups: bool = True
) -> tuple[Leaderboard, list[LiveRun]]:
    """The leaderboard of runs, and the runs in its order."""
    entrants = []
    for run in runs:
        known = run.overview.configuration
        entrants.append(
            Entrant(
                name=run.name,
                attempts=run.summaries,
                agent_command=known.agent_command if known is not None else None,
                base_url=known.base_url if known is not None else None,
                note=known.note if known is not None else None,
                is_configuration_known=known is not None,
            )
        )
    board = leaderboard(entrants, with_groups=with_groups)
    by_label = dict(zip(label_runs(entrants), runs, strict=True))
    return board, [by_label[entry.label] for entry in board.entries]


def _board_values(runs: Sequence[LiveRun]) -> dict[str, object]:
    board, ranked = _ranking(runs)
    attempts = [run.summaries for run in ranked]
    heat = heat_map(attempts)
    cells = [_cells(run) for run in ranked]
    return {
        "board": board,
        "runs": ranked,
        "letters": LETTERS_NOTE,
        "heat": heat,
        "matrix": [(task, [own.get(task) for own in cells]) for task, _ in heat.rows],
    }


def compare_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of a comparison; without two runs those of a form to choose them."""
    names = [request.query_params.get(name, "") for name in ("first", "second")]
    folders = sorted(context.folder.runs(), key=context.cache.began, reverse=True)
    values: dict[str, object] = {
        "names": names,
        "offered": [folder.name for folder in folders[:_MAX_OFFERED]],
        "comparison": None,
        "problem": "",
        "has_behaviour": has_tags(),
        "behaviour": None,
    }
    if all(names):
        first, second = _compared_runs(context, names)
        try:
            comparison = compare(first.summaries, second.summaries)
        except InputError as error:
            # Without a common task, a reader still needs the form to choose other runs.
            return values | {"problem": str(error)}
        values |= _comparison_values(first, second, comparison)
        if wants_behaviour(request):
            values["behaviour"] = _comparison_section(first, second)
    return values


def compare_behaviour(context: PageContext, request: Request) -> TemplateValues:
    """The values of the part of a comparison about behaviour.

    Raises:
        PageNotFoundError: there is no such part, or no such run.
    """
    require_behaviour()
    names = [request.query_params.get(name, "") for name in ("first", "second")]
    return {"behaviour": _comparison_section(*_compared_runs(context, names))}


def _compared_runs(context: PageContext, names: Sequence[str]) -> tuple[LiveRun, LiveRun]:
    first, second = (context.cache.run(context.folder.run(name)) for name in names)
    return first, second


def _comparison_section(first: LiveRun, second: LiveRun) -> BehaviourSection:
    return behaviour_section(
        (first, second),
        ("First", "Second"),
        page="/compare",
        query=urlencode({"first": first.name, "second": second.name}),
        is_comparison=True,
    )


def _comparison_values(
    first: LiveRun, second: LiveRun, comparison: Comparison
) -> dict[str, object]:
    cells = [_cells(run) for run in (first, second)]
    differing = {flip.task_id for flip in (*comparison.gained, *comparison.lost)}
    return {
        "first": first,
        "second": second,
        "comparison": comparison,
        "overall": statement(comparison.overall),
        "judged": statement(comparison.judged) if comparison.judged is not None else None,
        "cells": cells,
        "gained": [flip.task_id for flip in comparison.gained],
        "lost": [flip.task_id for flip in comparison.lost],
        "same": sorted((cells[0].keys() & cells[1].keys()) - differing),
        "listed": _MAX_LISTED,
    }


def _cells(run: LiveRun) -> dict[str, MatrixCell]:
    attempts: dict[str, list[AttemptSummary]] = {}
    for attempt in run.summaries:
        attempts.setdefault(attempt.task_id, []).append(attempt)
    return {task: MatrixCell.of(run.name, own) for task, own in attempts.items()}
