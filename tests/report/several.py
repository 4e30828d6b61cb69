"""Headlines of made-up runs, by a word for each attempt."""

from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import failed, lost, resolved

_MADE = {"r": resolved, "f": failed, "l": lost}


def attempts(run: str, *tasks: str, **more) -> list[AttemptSummary]:
    """A summary for each letter of each task: resolved, failed or lost."""
    return [
        AttemptSummary.of(
            _MADE[letter](run_id=run, task_id=f"task-{number}", attempt=attempt, **more)
        )
        for number, letters in enumerate(tasks)
        for attempt, letter in enumerate(letters, start=1)
    ]
