"""The attempts that wait for their turn, and whose turn is next."""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from agentbench.runs.capacity import Room
from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord
from agentbench.tasks.task import Task

_AHEAD = 256
"""How many attempts are looked at for one that may start, and how often the first may be passed."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Again:
    """An attempt that is to be made once more."""

    due: float
    planned: Planned = field(compare=False)
    last: AttemptRecord = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Next:
    planned: Planned
    preparation: int


class Waiting:
    """Attempts in their order, few of them in memory at a time.

    One whose task is being prepared by an attempt that runs is passed over while another may
    start: it would only wait for the other's lock. So is one that there is no room for, though not
    for ever.
    """

    def __init__(
        self,
        planned: Iterable[Planned],
        *,
        is_prepared: Callable[[Task], bool] = lambda _task: False,
    ) -> None:
        self._planned = iter(planned)
        self._is_prepared = is_prepared
        self._ahead: deque[_Next] = deque()
        self._passed = 0  # starts since the first one became the first
        self._again: list[Again] = []
        self._preparing: Counter[int] = Counter()
        self._prepared: set[int] = set()

    @property
    def to_retry(self) -> int:
        """How many wait to be made once more."""
        return len(self._again)

    @property
    def next_due(self) -> float | None:
        """When the first of those may start."""
        return self._again[0].due if self._again else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        self._look_ahead()
        return not self._ahead and not self._again

    def put_back(self, again: Again) -> None:
        """Have an attempt made once more."""
        heapq.heappush(self._again, again)

    def give_up(self) -> list[Again]:
        """Those that will not be made once more after all."""
        given_up, self._again = sorted(self._again), []
        return given_up

    def take_again(self, room: Room, *, now: float) -> Planned | None:
        """The attempt whose time to be made once more has come, if there is room for it."""
        if self._again and self._again[0].due <= now and room.holds(self._again[0].planned.task):
            return heapq.heappop(self._again).planned
        return None

    def take(self, room: Room) -> Planned | None:
        """The next attempt that there is room for, preferably of a task that nobody prepares."""
        self._look_ahead()
        place = self._place(room)
        if place is None:
            return None
        chosen = self._ahead[place]
        del self._ahead[place]
        self._passed = self._passed + 1 if place else 0
        task = chosen.planned.task
        if not (chosen.preparation in self._prepared or self._is_prepared(task)):
            self._preparing[chosen.preparation] += 1
        return chosen.planned

    def ended(self, planned: Planned, *, prepared: bool) -> None:
        """An attempt that was taken is over; `prepared`: its task's preparation is there now."""
        preparation = _preparation(planned.task)
        if self._preparing[preparation] > 1 and not prepared:
            self._preparing[preparation] -= 1
        else:
            del self._preparing[preparation]
        if prepared:
            self._prepared.add(preparation)

    def _look_ahead(self) -> None:
        for planned in islice(self._planned, _AHEAD - len(self._ahead)):
            self._ahead.append(_Next(planned=planned, preparation=_preparation(planned.task)))

    def _place(self, room: Room) -> int | None:
        second_best: int | None = None
        for place, candidate in enumerate(self._ahead):
            if not room.holds(candidate.planned.task):
                if place == 0 and self._passed >= _AHEAD:
                    return None  # the others would keep it waiting for ever
            elif not self._preparing[candidate.preparation]:
                return place
            elif second_best is None:
                second_best = place
        return second_best


def _preparation(task: Task) -> int:
    """Stands for what a task's preparation is made of, as far as that is known without an image."""
    source, environment = task.source, task.environment
    parts = (
        str(source.files or source.url),
        source.commit,
        task.setup,
        environment.image,
        environment.dockerfile,
        frozenset(environment.env.items()),
    )
    return hash(parts)
