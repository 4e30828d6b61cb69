"""The heat map of tasks and runs: how many attempts of each resolved each task."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from agentbench.runs.store.summaries import AttemptSummary
from agentbench.tasks.problem import TaskId

_MAX_COMPLETE = 60  # tasks; up to here each has its own row
_MAX_ROWS = 200  # rows
_LEVELS = 4  # colours in addition to that of 0
HeatMapCells = tuple["HeatMapCell | None", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMapCell:
    """The attempts of one run at one task."""

    resolved: int
    total: int

    @property
    def level(self) -> int:
        """0 (none resolved) to 4 (all resolved)."""
        if self.resolved == self.total:
            return _LEVELS
        return ceil(self.resolved / self.total * (_LEVELS - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The rows of tasks, and the tasks without a row, on which runs agree."""

    rows: Sequence[tuple[TaskId, HeatMapCells]]
    always: Sequence[TaskId] = ()  # every attempt of every run resolved them
    never: Sequence[TaskId] = ()  # no attempt of any run did
    beyond: Sequence[TaskId] = ()  # omitted because of the limit: those on which runs differ least
    tasks: int

    @property
    def note(self) -> str:
        """A note about tasks without a row."""
        if len(self.rows) == self.tasks:
            return "The hardest tasks come first."
        text = f"{len(self.rows)} of {self.tasks} tasks are shown, the hardest first: those on "
        return text + "which attempts differ. The others are named below the table."


def heat_map(runs: Sequence[Sequence[AttemptSummary]]) -> HeatMap:
    """The heat map of some runs, each given by its attempts."""
    counts = []
    for attempts in runs:
        total = Counter(attempt.task_id for attempt in attempts)
        resolved = Counter(attempt.task_id for attempt in attempts if attempt.resolved)
        counts.append(
            {task: HeatMapCell(resolved=resolved[task], total=total[task]) for task in total}
        )
    tasks = sorted(set().union(*counts))
    cells = {task: tuple(own.get(task) for own in counts) for task in tasks}
    if len(tasks) <= _MAX_COMPLETE:
        return HeatMap(rows=_ordered_rows(tasks, cells), tasks=len(tasks))
    # Tasks on which all runs agree say nothing about their difference, so they have no row.
    share = {task: _share(cells[task]) for task in tasks}
    mixed = [task for task in tasks if 0 < share[task] < 1]
    spread = {}
    for task in mixed:
        shares = [cell.resolved / cell.total for cell in cells[task] if cell is not None]
        # How much runs differ decides, then how mixed their attempts are.
        spread[task] = max(shares) - min(shares) + 0.1 * (0.5 - abs(share[task] - 0.5))
    mixed.sort(key=lambda task: -spread[task])
    return HeatMap(
        rows=_ordered_rows(mixed[:_MAX_ROWS], cells),
        always=[task for task in tasks if share[task] == 1],
        never=[task for task in tasks if share[task] == 0],
        beyond=sorted(mixed[_MAX_ROWS:]),
        tasks=len(tasks),
    )


def _ordered_rows(
    tasks: Sequence[TaskId], cells: dict[TaskId, HeatMapCells]
) -> list[tuple[TaskId, HeatMapCells]]:
    ordered = sorted(tasks, key=lambda task: (_share(cells[task]), task))
    return [(task, cells[task]) for task in ordered]


def _share(cells: HeatMapCells) -> float:
    filled_cells = [cell for cell in cells if cell is not None]
    return sum(cell.resolved for cell in filled_cells) / sum(cell.total for cell in filled_cells)
