"""The pages that compare runs: the leaderboard with the matrix of tasks, and two runs.

Runs are comparable if they have the same tasks with the same contents. A run is ranked once it has
an attempt at each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from agentbench.errors import InputError
from agentbench.extensions.view import rendering
from agentbench.extensions.view.queries import BadQueryError
from agentbench.extensions.view.rendering import PageContext, TemplateValues
from agentbench.extensions.view.run_cache import LiveRun
from agentbench.report.attempt_columns import verdict_word
from agentbench.report.comparison import Comparison, compare
from agentbench.report.formatting import statement
from agentbench.report.heat_map import heat_map
from agentbench.report.leaderboard import LETTERS_NOTE, Entrant, label_runs, leaderboard
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


def leaderboard_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of the leaderboard of one set of tasks, by default that of the newest runs.

    Raises:
        BadQueryError: no run has the requested tasks.
    """
    sets = _task_sets(context)
    chosen = sets[0] if sets else None
    if digest := request.query_params.get("tasks", ""):
        chosen = next((each for each in sets if each.digest == digest), None)
        if chosen is None:
            known = ", ".join(each.digest for each in sets[:_MAX_SETS]) or "none, there are no runs"
            raise BadQueryError(f"tasks: found {digest!r}; expected one of {known}.")
    values: dict[str, object] = {"sets": sets[:_MAX_SETS], "chosen": chosen, "board": None}
    if chosen is None:
        return values
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
    more = len(unranked) - _MAX_UNRANKED
    values |= {"unranked": unranked[:_MAX_UNRANKED], "more_unranked": more}
    return values | (_board_values(ranked) if ranked else {})


def _task_sets(context: PageContext) -> list[TaskSet]:
    """The runs by their tasks: sets with several runs first, then those with the newest runs."""
    folders: dict[tuple[str, int], list[Path]] = {}
    for folder in sorted(context.folder.runs(), key=context.cache.began, reverse=True):
        plan = context.cache.plan(folder)
        if plan.task_set:
            folders.setdefault((plan.task_set, plan.tasks), []).append(folder)
    sets = [TaskSet(digest=key[0], tasks=key[1], folders=own) for key, own in folders.items()]
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


def _board_values(runs: Sequence[LiveRun]) -> dict[str, object]:
    entrants = []
    for run in runs:
        known = run.overview.configuration
        entrants.append(
            Entrant(
                name=run.name,
                attempts=run.summaries,
                agent_command=known.agent_command if known is not None else None,
                base_url=known.base_url if known is not None else None,
                is_configuration_known=known is not None,
            )
        )
    board = leaderboard(entrants)
    by_label = dict(zip(label_runs(entrants), runs, strict=True))
    ranked = [by_label[entry.label] for entry in board.entries]
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
    }
    if all(names):
        first, second = (context.cache.run(context.folder.run(name)) for name in names)
        try:
            comparison = compare(first.summaries, second.summaries)
        except InputError as error:
            # Without a common task, a reader still needs the form to choose other runs.
            return values | {"problem": str(error)}
        values |= _comparison_values(first, second, comparison)
    return values


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
