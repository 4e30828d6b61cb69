"""What a run says of the Pythons that its tasks run with."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentbench.report.harmless import harmless

if TYPE_CHECKING:
    from agentbench.runs.configuration import TaskEntry

_NAMED = 5  # kinds of image


def interpreter_line(tasks: "Sequence[TaskEntry]") -> str:
    """One line: each image with its Python, those of most tasks first."""
    kinds = Counter(map(_shown, tasks)).most_common()
    counts = [f"{name} for {_tasks(count)}" for name, count in kinds[:_NAMED]]
    if len(kinds) == 1:
        counts = [kinds[0][0]]
    if len(kinds) > _NAMED:
        counts.append(f"{len(kinds) - _NAMED} more")
    return f"python: {', '.join(counts)}"


def _shown(task: "TaskEntry") -> str:
    if task.image is None:
        return "not known yet" if task.python is None else f"{task.python} of this machine"
    python = "that" if task.python is None else task.python
    return f"{python} of {harmless(task.image)}"


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"
