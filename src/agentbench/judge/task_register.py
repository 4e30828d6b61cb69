"""The tasks of a judge: loaded, checked and added to its run when the first change comes."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from agentbench.attempt.resources import RunResources
from agentbench.errors import InputError
from agentbench.runs.argument_names import naming_arguments
from agentbench.runs.options import RunOptions
from agentbench.runs.start import entry_of, ready_tasks
from agentbench.runs.store.configuration import RunConfiguration, RunEnding, TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.tasks.host_variables import with_host_variables
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_BUILT = "built for the task"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyTask:
    """A task with its image, and its entry in run.json."""

    task: Task
    entry: TaskEntry
    image: str


class TaskRegister:
    """The tasks in a run's configuration, and the numbers of their attempts. Thread-safe."""

    def __init__(
        self,
        options: RunOptions,
        resources: RunResources,
        store: RunStore,
        configuration: RunConfiguration,
    ) -> None:
        self._options = options
        self._resources = resources
        self._store = store
        self._configuration = configuration
        self._loading = Lock()
        self._loaded: dict[str, Task] = {}  # by their paths
        self._ready: dict[str, ReadyTask] = {}  # by their digests
        self._lock = Lock()  # for the configuration and the numbers
        self._numbers: dict[TaskId, int] = {}

    @property
    def configuration(self) -> RunConfiguration:
        return self._configuration

    def ready(self, task: Task | Path | str) -> ReadyTask:
        """The task with its image; the first call with a task adds it to the run.

        Raises:
            InputError: the task is wrong, or another one has its id.
            UnavailableError: its image does not exist.
        """
        with self._loading, naming_arguments():
            path = str(task)
            if not path:  # it would mean the current folder
                raise InputError("task: expected the path of a task's folder, found an empty text")
            if isinstance(task, Task):
                loaded = task
            elif path in self._loaded:
                loaded = self._loaded[path]
            else:
                tasks = load_tasks([Path(path)], mirrors=self._resources.mirrors).tasks
                if len(tasks) != 1:
                    raise InputError(f"{path}: expected the folder of one task, found {len(tasks)}")
                loaded = self._loaded[path] = tasks[0]
            found = self._ready.get(loaded.digest)
            if found is None:
                found = self._ready[loaded.digest] = self._added(loaded)
            return found

    def next_number(self, task: Task) -> int:
        with self._lock:
            number = self._numbers[task.id] = self._numbers.get(task.id, 0) + 1
            if number > self._configuration.attempts:
                self._write(attempts=number)
            return number

    def write_ending(self, ending: RunEnding) -> None:
        with self._lock:
            self._write(ended_at=datetime.now(UTC), ending=ending)

    def _added(self, task: Task) -> ReadyTask:
        # Folders of attempts have the ids of their tasks as names.
        if any(each.entry.id == task.id for each in self._ready.values()):
            raise InputError(f"{task.id}: another task of this judge has this id; rename one")
        (given,) = with_host_variables([task], self._options.allow_env, os.environ)
        (ready,) = ready_tasks([given], self._options, self._resources)
        is_built = ready.environment.is_built
        image = _BUILT if is_built else str(self._resources.image_of(ready))
        entry = entry_of(ready, self._resources.provider)
        with self._lock:
            self._write(tasks=(*self._configuration.tasks, entry))
        return ReadyTask(task=ready, entry=entry, image=image)

    def _write(self, **changes: object) -> None:
        """Write run.json with changes; the caller holds the lock."""
        self._configuration = self._configuration.replace(**changes)
        self._store.write_configuration(self._configuration)
