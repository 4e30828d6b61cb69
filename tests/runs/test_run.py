from contextlib import closing

import pytest

from agentbench.runs.start import start_run
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.store import RunStore


def ending(run) -> RunEnding | None:
    return RunStore.open(run.store.folder).configuration().ending


def made(run) -> list[tuple[str, int]]:
    return [(record.task_id, record.attempt) for record in run.store.latest()]


def test_a_run_to_its_end_says_finished(task, options):
    run = start_run([task], options)
    assert len(list(run.attempts())) == 1
    assert ending(run) is RunEnding.FINISHED


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_whose_consumer_breaks_off_says_interrupted(task, options, jobs):
    run = start_run([task], options.replace(attempts=4, jobs=jobs))
    with closing(run.attempts()) as records:
        next(records)
    assert ending(run) is RunEnding.INTERRUPTED
    assert len(made(run)) < 4


def test_a_run_that_was_cancelled_says_interrupted(task, options):
    run = start_run([task], options)
    run.cancel()
    list(run.attempts())
    assert ending(run) is RunEnding.INTERRUPTED
