"""The unresolved attempts of an earlier run, for repeating them in a new run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.core.display_text import counted
from agentbench.errors import InputError, UsageError
from agentbench.runs.options import RunOptions
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore, is_run_locked
from agentbench.tasks.loading import TASK_FILE, LoadedTasks, load_tasks
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempts:
    """The attempts of a run that were not resolved, and the run's options."""

    configuration: RunConfiguration
    by_task: Mapping[TaskId, tuple[int, ...]]

    @classmethod
    def of_run(cls, folder: Path) -> "FailedAttempts":
        """Find the attempts that were not resolved or never made.

        Raises:
            InputError: there is no such run, or it cannot be read.
            UsageError: the run still goes on, or all of its attempts are resolved.
        """
        configuration = RunStore.open(folder).configuration()
        if is_run_locked(folder):
            raise UsageError(f"--rerun-failed {folder}: the run still goes on; wait until it ends")
        reading = read_run(folder)
        last = (reading.summaries[number] for number in reading.latest())
        resolved = {(each.task_id, each.attempt) for each in last if each.resolved}
        by_task = {
            entry.id: tuple(
                number
                for number in entry.numbers(configuration.attempts)
                if (entry.id, number) not in resolved
            )
            for entry in configuration.tasks
        }
        by_task = {task_id: numbers for task_id, numbers in by_task.items() if numbers}
        if not by_task:
            attempts = counted(configuration.planned_attempts, "attempt")
            raise UsageError(
                f"--rerun-failed {folder}: nothing to rerun, since the run resolved all of its "
                f"{attempts}"
            )
        return cls(configuration=configuration, by_task=by_task)

    def load_tasks(self, mirrors: Mirrors) -> LoadedTasks:
        """Load the tasks of these attempts; those that were changed since the run give a warning.

        Raises:
            InputError: a task no longer exists, or is wrong.
        """
        run_id = self.configuration.run_id
        entries = [entry for entry in self.configuration.tasks if entry.id in self.by_task]
        folders = [Path(entry.folder) for entry in entries]
        gone = [str(folder) for folder in folders if not (folder / TASK_FILE).is_file()]
        if gone:
            raise InputError(
                f"--rerun-failed {run_id}: these tasks no longer exist: {', '.join(gone)}; "
                "restore them, or start a run with other tasks"
            )
        loaded = load_tasks(folders, mirrors=mirrors)
        digests = {entry.id: entry.digest for entry in entries}
        renamed = digests.keys() - {task.id for task in loaded.tasks}
        if renamed:
            raise InputError(
                f"--rerun-failed {run_id}: no task has the id {', '.join(sorted(renamed))} any "
                "more; restore it, or start a run with other tasks"
            )
        changed = [task.id for task in loaded.tasks if digests[task.id] != task.digest]
        warnings = [f"{task_id}: changed since {run_id}" for task_id in changed]
        return LoadedTasks(tasks=loaded.tasks, warnings=(*loaded.warnings, *warnings))

    def numbers(self, task_id: TaskId, options: RunOptions) -> tuple[int, ...] | None:
        """The attempts at a task in the new run; None: all, since their number was changed."""
        is_same_number = options.attempts == self.configuration.attempts
        return self.by_task[task_id] if is_same_number else None

    def options(self, options: RunOptions, *, given: Collection[str]) -> RunOptions:
        """The options of the new run: the given ones, and otherwise those of the earlier run.

        Args:
            options: Options with the given values.
            given: The names of the given values.
        """
        earlier = self.configuration
        before: dict[str, object] = dict(earlier.settings())
        before |= {"agent": earlier.agent, "sandbox": earlier.sandbox}
        # What was written about the earlier run does not describe the new one.
        kept = before.keys() - given - {"note", "tags"}
        if not {"agent", "agent_command"}.isdisjoint(given):
            kept -= {"agent", "agent_command", "agent_files"}
        elif "sandbox" not in given:
            # The earlier run was allowed to do the same.
            before["allow_unsandboxed"] = True
            kept |= {"allow_unsandboxed"}
        return options.replace(**{name: before[name] for name in kept})
