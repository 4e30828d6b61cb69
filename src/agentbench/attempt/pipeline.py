"""The six stages in their order, their time limits, and the deadline of an attempt as a whole."""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import Event
from types import MappingProxyType

from agentbench.attempt.settings import RunSettings
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.mirror import CLONE_TIMEOUT
from agentbench.tasks.task import Task

_GIT_CHECKOUT_TIMEOUT = timedelta(minutes=10)
_OWN_SECONDS = 900.0  # for the harness's work between the stages' commands
_JUDGED = frozenset({StageName.BASELINE_RUN, StageName.FINAL_TEST})

PREPARATION = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP})
"""The stages whose result is a snapshot that later attempts start from."""

_SECONDS: Mapping[StageName, Callable[[Task], float]] = MappingProxyType(
    {
        StageName.GIT_CLONE: lambda _task: CLONE_TIMEOUT.total_seconds(),
        StageName.GIT_CHECKOUT: lambda _task: _GIT_CHECKOUT_TIMEOUT.total_seconds(),
        StageName.SETUP: lambda task: task.setup.timeout_s,
        StageName.BASELINE_RUN: lambda task: task.problem.test_timeout_s,
        StageName.AGENT_RUN: lambda task: task.problem.limits.timeout_s,
        StageName.FINAL_TEST: lambda task: task.problem.test_timeout_s,
    }
)


def stage_timeout(stage: StageName, task: Task, settings: RunSettings) -> timedelta:
    """The time limit of a stage; in git_clone of each of its two parts."""
    return settings.scaled(_SECONDS[stage](task))


def attempt_time_limit(task: Task, settings: RunSettings) -> timedelta:
    """The time limit of an attempt as a whole.

    By default the sum of all stages' limits, those of the judged runs twice for their control
    runs, and a margin: no attempt that works as it should comes near it.
    """
    if settings.attempt_timeout is not None:
        return settings.attempt_timeout
    limits = [stage_timeout(stage, task, settings) for stage in (*StageName, *_JUDGED)]
    return sum(limits, start=settings.scaled(_OWN_SECONDS))


_POLL = 0.1  # seconds; two events cannot be waited for at once


class AttemptDeadline(Event):
    """Is set when the run is cancelled or the attempt is late: the `cancel` of its sandboxes."""

    def __init__(self, run: Event, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._run = run
        self._clock = clock
        self._deadline = float("inf")
        self.limit: timedelta | None = None

    def begin(self, limit: timedelta) -> None:
        """Start the attempt's time."""
        self.limit = limit
        self._deadline = self._clock() + limit.total_seconds()

    @property
    def is_late(self) -> bool:
        """Whether the attempt's own time is over and the run is not cancelled."""
        return not self._run.is_set() and self._clock() >= self._deadline

    def is_set(self) -> bool:
        """Whether the attempt has to end."""
        return super().is_set() or self._run.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the attempt has to end, or for so many seconds; returns whether it has to."""
        end = float("inf") if timeout is None else self._clock() + timeout
        while not self.is_set() and (left := end - self._clock()) > 0:
            self._run.wait(min(left, _POLL))
        return self.is_set()
