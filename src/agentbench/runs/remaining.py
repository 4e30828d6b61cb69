"""Which attempts of a run are still to be made."""

from collections import Counter
from collections.abc import Iterable, Sequence

from agentbench.runs.record import AttemptRecord
from agentbench.runs.schedule import Planned, was_interrupted
from agentbench.scoring.taxonomy import Fault


def not_done(
    planned: Sequence[Planned], tries: Iterable[AttemptRecord], *, retries: float
) -> tuple[Planned, ...]:
    """Those that have no verdict, or one that the infrastructure spoilt with tries left.

    Args:
        planned: All attempts of the run.
        tries: Every record of it, in the order they were made.
        retries: How often an attempt that the infrastructure fails is made again; infinity: until
            it has a verdict.
    """
    lost: Counter[tuple[str, int]] = Counter()
    done: set[tuple[str, int]] = set()
    for record in tries:
        attempt = (record.task_id, record.attempt)
        done.discard(attempt)
        if was_interrupted(record):
            continue
        lost[attempt] += record.fault is Fault.INFRASTRUCTURE
        if record.fault is not Fault.INFRASTRUCTURE or lost[attempt] > retries:
            done.add(attempt)
    return tuple(item for item in planned if (item.task.id, item.attempt) not in done)
