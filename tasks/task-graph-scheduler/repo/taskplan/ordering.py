"""Orders of a graph's tasks. All of them are the same in every run."""

import heapq

from taskplan.graph import TaskGraph


def order(graph: TaskGraph) -> list[str]:
    """Return the tasks, each after all that it depends on.

    Raises:
        CycleError: There is no such order.
        UnknownTask: A task depends on one that was never added.
    """
    graph.check()
    missing = {name: len(graph.needs(name)) for name in graph}
    ready = [name for name, count in missing.items() if count == 0]
    heapq.heapify(ready)
    ordered: list[str] = []
    while ready:
        name = heapq.heappop(ready)
        ordered.append(name)
        for other in graph.needed_by(name):
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(ready, other)
    return ordered


def waves(graph: TaskGraph) -> list[list[str]]:
    """Return the tasks in groups, each task in the earliest that comes after all it depends on.

    Raises:
        CycleError: There is no such order.
        UnknownTask: A task depends on one that was never added.
    """
    wave_of: dict[str, int] = {}
    grouped: list[list[str]] = []
    for name in order(graph):
        wave = max((wave_of[other] + 1 for other in graph.needs(name)), default=0)
        wave_of[name] = wave
        if wave == len(grouped):
            grouped.append([])
        grouped[wave].append(name)
    return [sorted(group) for group in grouped]


def critical_path(graph: TaskGraph) -> tuple[float, list[str]]:
    """Return the costliest chain of dependencies and its cost; of equal ones the first by name.

    Raises:
        CycleError: There is no order, hence no such chain.
        UnknownTask: A task depends on one that was never added.
    """
    best: dict[str, tuple[float, list[str]]] = {}
    for name in order(graph):
        cost, chain = min((best[other] for other in graph.needs(name)), key=_costliest, default=(0, []))
        best[name] = (cost + graph.cost(name), [*chain, name])
    return min(best.values(), key=_costliest, default=(0, []))


def affected(graph: TaskGraph, name: str) -> list[str]:
    """Return a task and all that depend on it, however remotely, by name.

    Raises:
        UnknownTask: There is no such task.
    """
    graph.cost(name)
    found = {name}
    to_do = [name]
    while to_do:
        for other in graph.needed_by(to_do.pop()):
            if other not in found:
                found.add(other)
                to_do.append(other)
    return sorted(found)


def _costliest(candidate: tuple[float, list[str]]) -> tuple[float, list[str]]:
    cost, chain = candidate
    return -cost, chain
