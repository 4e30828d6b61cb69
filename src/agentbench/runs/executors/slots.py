"""Where a run's slots are, if not on this machine; what is missing for that is said beforehand."""

from agentbench.extras import RAY, require
from agentbench.runs.executor_name import ExecutorName


def slots_elsewhere(executor: ExecutorName) -> int | None:
    """How many attempts at a time an executor's own machines take; None: it is this machine.

    Raises:
        UsageError: its library is missing.
        UnavailableError: there is no cluster, or none with slots.
    """
    if executor is ExecutorName.LOCAL:
        return None
    require("--executor ray", RAY)
    from agentbench.runs.executors.ray_cluster import connect

    return connect()
