"""Tasks and the dependencies between them."""

from collections.abc import Iterable, Iterator


class CycleError(Exception):
    """Tasks that depend on each other in a circle."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        super().__init__(" -> ".join(path))


class UnknownTask(KeyError):
    """A task that is depended on, or asked for, and was never added."""

    def __str__(self) -> str:
        return f"no task is named {self.args[0]!r}"


class TaskGraph:
    """A graph that may be changed at any time and is checked for cycles when it is used.

    A check remembers the tasks it has found to be free of cycles, since a plan that is watched is checked again after
    every small change, and a large one would otherwise be walked through each time.
    """

    def __init__(self) -> None:
        self._costs: dict[str, float] = {}
        self._needs: dict[str, set[str]] = {}
        self._needed_by: dict[str, set[str]] = {}
        self._clean: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._costs

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._costs))

    def __len__(self) -> int:
        return len(self._costs)

    def add(self, name: str, cost: float = 1, needs: Iterable[str] = ()) -> None:
        """Add a task, or change the cost of one that is there; dependencies are added to those it has."""
        if cost < 0:
            raise ValueError(f"the cost of {name} is {cost}; give 0 or more")
        self._costs[name] = cost
        for other in needs:
            self.depend(name, other)

    def remove(self, name: str) -> None:
        """Take a task out, with its own dependencies. Tasks that need it go on needing it."""
        self._require(name)
        for other in list(self.needs(name)):
            self.undepend(name, other)
        del self._costs[name]
        self._clean.discard(name)

    def depend(self, name: str, on: str) -> None:
        """Let one task depend on another; either may be added later."""
        self._needs.setdefault(name, set()).add(on)
        self._needed_by.setdefault(on, set()).add(name)
        self._clean.discard(name)

    def undepend(self, name: str, on: str) -> None:
        """Take a dependency back; one that is not there is ignored."""
        self._needs.get(name, set()).discard(on)
        self._needed_by.get(on, set()).discard(name)

    def cost(self, name: str) -> float:
        """Return the cost of a task."""
        self._require(name)
        return self._costs[name]

    def needs(self, name: str) -> list[str]:
        """Return what a task depends on directly, by name."""
        return sorted(self._needs.get(name, ()))

    def needed_by(self, name: str) -> list[str]:
        """Return what depends on a task directly, by name."""
        return sorted(self._needed_by.get(name, ()))

    def check(self) -> None:
        """Make sure that the tasks can be ordered.

        Raises:
            CycleError: Tasks depend on each other in a circle.
            UnknownTask: A task depends on one that was never added.
        """
        for name in self:
            for other in self.needs(name):
                self._require(other)
        for name in self:
            if name not in self._clean:
                self._walk(name)

    def _walk(self, start: str) -> None:
        """Follow the dependencies of a task, depth first, and note each task that leads to no cycle."""
        trail = [start]
        ahead = [iter(self.needs(start))]
        while trail:
            following = next(ahead[-1], None)
            if following is None:
                self._clean.add(trail.pop())
                ahead.pop()
            elif following in trail:
                raise CycleError(_rotated(trail[trail.index(following) :]))
            elif following not in self._clean:
                trail.append(following)
                ahead.append(iter(self.needs(following)))

    def _require(self, name: str) -> None:
        if name not in self._costs:
            raise UnknownTask(name)


def _rotated(cycle: list[str]) -> tuple[str, ...]:
    """Return a cycle from its first task by name back to that task."""
    at = cycle.index(min(cycle))
    return (*cycle[at:], *cycle[:at], cycle[at])
