"""Prepares a task without an attempt."""

from dataclasses import replace

from agentbench.attempt.attempt import Attempt
from agentbench.attempt.context import PreparedContext
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.core.files import owned_folder
from agentbench.errors import RunCancelled, UnavailableError
from agentbench.tasks.task import Task
from agentbench.taxonomy import FailureReason


def prepare_task(task: Task, resources: RunResources) -> PreparedContext:
    """Prepare a task, or load its preparation from the cache.

    The result runs stages whose files and output are discarded.

    Args:
        task: The task; its hidden tests are not part of the state.
        resources: The run's resources; they must use a cache, or nothing would be stored.

    Raises:
        UnavailableError: a stage failed; the message says which, and why.
        RunCancelled: the run was cancelled.
    """
    with owned_folder("agentbench-logs-") as logs:
        slot = AttemptSlot(folder=logs, run_id=RunId("prepare"), attempt=1)
        attempt = Attempt(task, resources, slot)
        with attempt.prepared() as ready:
            if isinstance(ready, PreparedContext):
                return replace(ready, cancel=resources.cancel, save=lambda _name, _content: None)
    failure = attempt.last_failure()
    if failure is not None and failure.reason is FailureReason.INTERRUPTED:
        raise RunCancelled
    why = "it did not end" if failure is None else f"{failure.reason}: {failure.detail}"
    raise UnavailableError(f"{task.id} cannot be prepared: {why}")
