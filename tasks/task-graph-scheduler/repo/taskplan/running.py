"""Running tasks in order."""

from collections.abc import Callable
from enum import Enum

from taskplan.graph import TaskGraph
from taskplan.ordering import order


class Outcome(Enum):
    """What became of a task."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


def run(graph: TaskGraph, action: Callable[[str], object]) -> dict[str, Outcome]:
    """Call an action for each task, in order, and return what became of the tasks.

    Raises:
        CycleError: There is no order; no action was called.
        UnknownTask: A task depends on one that was never added; no action was called.
    """
    outcomes: dict[str, Outcome] = {}
    for name in order(graph):
        if any(outcomes[other] is not Outcome.DONE for other in graph.needs(name)):
            outcomes[name] = Outcome.SKIPPED
            continue
        try:
            action(name)
        except Exception:
            outcomes[name] = Outcome.FAILED
        else:
            outcomes[name] = Outcome.DONE
    return outcomes
