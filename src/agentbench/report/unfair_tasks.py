"""How much results depend on tasks whose tests reject right fixes: rates with and without them."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from rich.console import Console

from agentbench.core.display_text import counted, list_with_more, printable
from agentbench.errors import InputError
from agentbench.report import formatting
from agentbench.report.comparison import Comparison, compare
from agentbench.report.summary import ResultSummary
from agentbench.report.text_reports import RunNames, code, escaped, head, row
from agentbench.report.text_table import TableColumn, print_rows, print_text
from agentbench.runs.store.configuration import TaskQuality
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.statistics import ALPHA
from agentbench.tasks.problem import TaskId

_MAX_NAMED = 10  # tasks
_WITHOUT = "without unfair tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQualities:
    """What is known of the tests of some tasks."""

    by_task: Mapping[TaskId, TaskQuality]

    @property
    def unfair(self) -> Set[TaskId]:
        """The tasks whose tests are known to reject right fixes."""
        return {task for task, known in self.by_task.items() if known.rejects_right_fixes}

    @property
    def is_known(self) -> bool:
        """Whether anything was measured of any task."""
        return any(known != TaskQuality() for known in self.by_task.values())

    def fair(self, attempts: Sequence[AttemptSummary]) -> list[AttemptSummary]:
        """The attempts at other tasks than unfair ones."""
        unfair = self.unfair
        return [attempt for attempt in attempts if attempt.task_id not in unfair]

    def counts_text(self) -> str:
        """The number of tasks with each fault, and of those where it is not measured."""
        known = self.by_task.values()
        rejects = [each.rejects_right_fixes for each in known]
        accepts = [each.accepts_mutants for each in known]
        wrong = [each.accepts_wrong_fixes for each in known].count(True)
        return (
            f"tests of {counted(len(rejects), 'task')}: {rejects.count(True)} reject right fixes "
            f"({rejects.count(None)} not measured), {accepts.count(True)} accept changed "
            f"solutions, {wrong} of them certified wrong ones ({accepts.count(None)} not measured)"
        )

    def exclusion_text(self) -> str:
        """The unfair tasks, and how many of all are not measured."""
        names = list_with_more(sorted(self.unfair), _MAX_NAMED)
        unknown = [each.rejects_right_fixes for each in self.by_task.values()].count(None)
        return (
            f"{counted(len(self.unfair), 'unfair task')}, whose tests reject right fixes"
            f"{f': {names}' if names else ''}; {unknown} of {counted(len(self.by_task), 'task')} "
            "not measured"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RatesTable:
    """Rates with and without unfair tasks, and sentences about them."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]  # the first cell is a name
    lines: Sequence[str]

    def print(self, console: Console) -> None:
        """Print it at a terminal, after an empty line."""
        console.print()
        columns = [TableColumn(name=printable(title)) for title in self.titles]
        print_rows(columns, [list(map(printable, cells)) for cells in self.rows], console)
        for line in self.lines:
            print_text(printable(line), console)

    def markdown(self) -> Iterator[str]:
        """The same as Markdown."""
        yield head(list(map(code, self.titles)))
        for name, *cells in self.rows:
            yield row([code(name), *map(escaped, cells)])
        yield "\n"
        for line in self.lines:
            yield f"{escaped(line)}\n\n"


def rates_of_runs(
    runs: Mapping[str, Sequence[AttemptSummary]], qualities: TaskQualities
) -> RatesTable:
    """The rates of runs, each by its label with the last records of its attempts."""
    rows = []
    for label, attempts in runs.items():
        for name, included in (
            (label, attempts),
            (f"{label}, {_WITHOUT}", qualities.fair(attempts)),
        ):
            summary = ResultSummary.of(included)
            rows.append((name, str(summary.tasks), str(summary.overall), str(summary.judged)))
    titles = ("run", "tasks", "all attempts", "judged attempts")
    return RatesTable(titles=titles, rows=rows, lines=[qualities.exclusion_text()])


def rates_of_comparison(
    first: Sequence[AttemptSummary],
    second: Sequence[AttemptSummary],
    qualities: TaskQualities,
    names: RunNames,
    *,
    alpha: float = ALPHA,
) -> RatesTable:
    """The rates of two runs at their common tasks, and whether they differ without unfair tasks.

    Raises:
        InputError: they have no common task.
    """
    whole = compare(first, second, alpha=alpha)
    rows, lines = list(_rate_rows("all tasks", whole)), [qualities.exclusion_text()]
    try:
        fair = compare(qualities.fair(first), qualities.fair(second), alpha=alpha)
    except InputError:
        lines.append("Without unfair tasks the two runs share none.")
    else:
        rows += _rate_rows(_WITHOUT, fair)
        lines.append(f"Without unfair tasks: {formatting.statement(fair.overall)}")
    titles = ("tasks", *names, "difference in points")
    return RatesTable(titles=titles, rows=rows, lines=lines)


def _rate_rows(name: str, comparison: Comparison) -> Iterator[tuple[str, ...]]:
    first, second, judged = comparison.first, comparison.second, comparison.judged
    points = formatting.points(comparison.overall.difference)
    yield f"{name}: {comparison.tasks}", str(first.overall), str(second.overall), points
    points = formatting.points(judged.difference) if judged is not None else formatting.NO_VALUE
    yield f"{name}, judged attempts", str(first.judged), str(second.judged), points
