"""What a power cut, a kill or damage left undone in a run's folder."""

from collections.abc import Iterator
from pathlib import Path

from agentbench.runs.copies import RECORD, TaskFolder, read_copy, tasks_of
from agentbench.runs.lines import ATTEMPTS
from agentbench.runs.reading import Reading

_RETRY = ".retry-"


def cut_off(folder: Path, reading: Reading) -> Iterator[str]:
    """A sentence for each attempt whose last try left no record that can be read."""
    for task in tasks_of(folder / "attempts", reading.headlines):
        for name in _last_tries(task):
            if task.place(name) in task.said:
                continue
            path = task.path / name / RECORD
            if not path.exists():
                yield f"{path.parent}: was cut off and left no record"
            elif isinstance(why := read_copy(path), str):
                yield f"{path}: {why}; it has no line in {ATTEMPTS}, so the attempt is made again"


def _last_tries(task: TaskFolder) -> Iterator[str]:
    last: dict[str, tuple[int, str]] = {}
    for name in sorted(task.names()):
        attempt, _, retry = name.partition(_RETRY)
        if not attempt.isdigit() or (retry and not retry.isdigit()):
            continue  # one that was judged again
        rank = int(retry or 0)
        if attempt not in last or last[attempt][0] < rank:
            last[attempt] = (rank, name)
    yield from (name for _, name in last.values())
