"""Where a run's slots are, if not on this machine; what is missing for that is said beforehand."""

from importlib.util import find_spec

from agentbench.errors import UsageError
from agentbench.runs.executor_name import ExecutorName


def slots_elsewhere(executor: ExecutorName) -> int | None:
    """How many attempts at a time an executor's own machines take; None: it is this machine.

    Raises:
        UsageError: its library is missing.
        UnavailableError: there is no cluster, or none with slots.
    """
    if executor is ExecutorName.LOCAL:
        return None
    if find_spec("ray") is None:
        raise UsageError("--executor ray needs ray, found none: pip install 'agentbench[ray]'")
    from agentbench.runs.executors.ray_cluster import connect

    return connect()
