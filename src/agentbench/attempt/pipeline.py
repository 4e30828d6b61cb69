"""The six stages in their order, the time each of them and the attempt as a whole may take.

What ends an attempt from outside.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event

from agentbench.attempt.context import Stage, StageContext
from agentbench.attempt.stages import preparation_stages
from agentbench.attempt.stages.agent_run import agent_run
from agentbench.attempt.stages.judged_tests import judged_timeout
from agentbench.attempt.stages.preparation_stages import setup
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.taxonomy import StageName


def _baseline_run(context: StageContext) -> Evidence:
    from agentbench.attempt.stages.judging import baseline_run  # most attempts find it in the cache

    return baseline_run(context)


def _final_test(context: StageContext) -> Evidence:
    from agentbench.attempt.stages.judging import final_test  # imported while the agent works

    return final_test(context)


PIPELINE = (
    Stage(
        name=StageName.GIT_CLONE,
        run=preparation_stages.git_clone,
        timeout=lambda context: context.scaled(
            preparation_stages.GIT_CLONE_TIMEOUT.total_seconds()
        ),
    ),
    Stage(
        name=StageName.GIT_CHECKOUT,
        run=preparation_stages.git_checkout,
        timeout=lambda context: context.scaled(
            preparation_stages.GIT_CHECKOUT_TIMEOUT.total_seconds()
        ),
    ),
    Stage(
        name=StageName.SETUP,
        run=setup,
        timeout=lambda context: context.scaled(context.task.setup.timeout_s),
    ),
    Stage(name=StageName.BASELINE_RUN, run=_baseline_run, timeout=judged_timeout),
    Stage(
        name=StageName.AGENT_RUN,
        run=agent_run,
        timeout=lambda context: context.scaled(context.task.problem.limits.timeout_s),
    ),
    Stage(name=StageName.FINAL_TEST, run=_final_test, timeout=judged_timeout),
)
"""Every stage of an attempt. The first three prepare what later attempts can start from."""

PREPARATION = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP})
"""The stages whose outcome is kept in a snapshot."""


_LOOK_EVERY = 0.1  # seconds; two sources cannot be waited for at once


class AttemptDeadline(Event):
    """Is set once the run is cancelled or the attempt is late: what sandboxes take as `cancel`."""

    def __init__(self, run: Event, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._run = run
        self._clock = clock
        self._deadline = float("inf")
        self.limit: timedelta | None = None

    def begin(self, limit: timedelta) -> None:
        """Let the attempt's time run from now."""
        self.limit = limit
        self._deadline = self._clock() + limit.total_seconds()

    @property
    def is_late(self) -> bool:
        """Whether the attempt's own time is over, and nobody has cancelled the run."""
        return not self._run.is_set() and self._clock() >= self._deadline

    def is_set(self) -> bool:
        """Whether the attempt is to end."""
        return super().is_set() or self._run.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is to end, or for so many seconds; whether it is."""
        end = float("inf") if timeout is None else self._clock() + timeout
        while not self.is_set() and (left := end - self._clock()) > 0:
            self._run.wait(min(left, _LOOK_EVERY))
        return self.is_set()
