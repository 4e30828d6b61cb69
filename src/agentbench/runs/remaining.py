"""Which attempts of a run are still to be made."""

from collections import Counter
from collections.abc import Iterable, Iterator

from agentbench.runs.headline import Headline, attempt_of
from agentbench.runs.plan import Mark, Plan
from agentbench.runs.record import AttemptRecord
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.problem import TaskId


def not_done(plan: Plan, tries: Iterable[AttemptRecord | Headline], *, retries: float) -> Plan:
    """Those that have no verdict, or one that the infrastructure spoilt with tries left.

    Args:
        plan: All attempts of the run.
        tries: Every record of it, in the order they were made; none is kept.
        retries: How often an attempt that the infrastructure fails is made again; infinity: until
            it has a verdict.
    """
    return plan.less(_marks(tries, retries))


def _marks(tries: Iterable[AttemptRecord | Headline], retries: float) -> Iterator[Mark]:
    lost: Counter[tuple[TaskId, int]] = Counter()
    for one in tries:
        told = Headline.of(one)
        is_done = not told.was_interrupted
        if is_done and told.fault is Fault.INFRASTRUCTURE:
            attempt = attempt_of(told)
            lost[attempt] += 1
            is_done = lost[attempt] > retries
        yield Mark(task_id=told.task_id, attempt=told.attempt, is_done=is_done)
