"""The tasks that a service judges changes to: those of its command line, and no others."""

from collections.abc import Iterable

from agentbench.extensions.service.messages import TaskList, TaskSummary
from agentbench.extensions.service.problems import ProblemCode, ProblemError
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task


class TaskCatalogue:
    """The tasks by their ids."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.by_id = {task.id: task for task in tasks}

    def task(self, task_id: str, digest: str | None = None) -> Task:
        """A task.

        Raises:
            ProblemError: there is none of this id, or its digest is another one.
        """
        found = self.by_id.get(TaskId(task_id))
        if found is None:
            raise ProblemError(ProblemCode.UNKNOWN_TASK)
        if digest is not None and digest != found.digest:
            detail = f"expected the task with the digest {digest[:80]}, found {found.digest}"
            raise ProblemError(ProblemCode.TASK_CHANGED, detail)
        return found

    def listed(self) -> TaskList:
        """All tasks, as agents may know them."""
        return TaskList(tasks=tuple(summary_of(task) for task in self.by_id.values()))


def summary_of(task: Task) -> TaskSummary:
    """A task without its hidden tests and its solution."""
    return TaskSummary(id=task.id, digest=task.digest, problem=task.problem)
