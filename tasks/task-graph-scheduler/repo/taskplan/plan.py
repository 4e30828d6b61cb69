"""A plan: a graph that is kept in step with a file."""

from collections.abc import Callable

from taskplan import ordering, running
from taskplan.graph import TaskGraph
from taskplan.reading import Entry, read_plan
from taskplan.running import Outcome


class Plan:
    """The tasks of a plan file."""

    def __init__(self) -> None:
        self.graph = TaskGraph()
        self._entries: dict[str, Entry] = {}

    @classmethod
    def from_text(cls, text: str) -> "Plan":
        """Read a plan from the text of a plan file.

        Raises:
            PlanSyntaxError: A line cannot be read.
        """
        plan = cls()
        plan.reload(text)
        return plan

    def reload(self, text: str) -> list[str]:
        """Apply what has changed in the file, and return the names of the tasks that were touched.

        Raises:
            PlanSyntaxError: A line cannot be read; the plan is as it was.
        """
        entries = read_plan(text)
        touched = [name for name in self._entries | entries if self._entries.get(name) != entries.get(name)]
        for name in touched:
            if name in entries:
                self._apply(entries[name])
            else:
                self.graph.remove(name)
        self._entries = entries
        return sorted(touched)

    def order(self) -> list[str]:
        """Return the tasks, each after all that it depends on."""
        return ordering.order(self.graph)

    def waves(self) -> list[list[str]]:
        """Return the tasks in groups that only depend on earlier groups."""
        return ordering.waves(self.graph)

    def critical_path(self) -> tuple[float, list[str]]:
        """Return the costliest chain of dependencies and its cost."""
        return ordering.critical_path(self.graph)

    def affected(self, name: str) -> list[str]:
        """Return a task and all that depend on it, however remotely."""
        return ordering.affected(self.graph, name)

    def run(self, action: Callable[[str], object]) -> dict[str, Outcome]:
        """Call an action for each task, in order."""
        return running.run(self.graph, action)

    def _apply(self, entry: Entry) -> None:
        before = self._entries.get(entry.name)
        for other in before.needs if before else ():
            if other not in entry.needs:
                self.graph.undepend(entry.name, other)
        known = before.needs if before else ()
        self.graph.add(entry.name, entry.cost, [other for other in entry.needs if other not in known])
