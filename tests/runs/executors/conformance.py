"""What every executor must do, whatever makes its attempts."""

from agentbench.runs.executors import Executor, FinishedAttempt
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.reading import read_run
from agentbench.scoring.evidence import AgentEnding
from agentbench.taxonomy import FailureReason

_LONG = 240.0  # seconds; a worker of a loaded machine may take a minute to start


def all_ended(executor: Executor, count: int) -> list[FinishedAttempt]:
    """That many, in the order that they ended in."""
    over: list[FinishedAttempt] = []
    while len(over) < count:
        some = executor.ended(within=_LONG)
        assert some, f"{count - len(over)} did not end"
        over += some
    return over


class ExecutorConformance:
    """Wants the fixtures `executor` (two slots, an agent that does nothing), `store` and `task`."""

    def test_a_try_ends_with_its_record_on_disk(self, executor, store, task):
        planned = PlannedAttempt(task=task, attempt=1)
        with executor:
            executor.start(planned)
            (over,) = all_ended(executor, 1)
        assert over.planned == planned
        assert over.record.failure_reason is FailureReason.TESTS_FAILED
        assert over.record.agent_run.ending is AgentEnding.SUBMITTED
        assert tuple(read_run(store.folder).records()) == (over.record,)
        assert read_run(store.folder).warnings() == ()

    def test_its_files_are_in_its_folder(self, executor, store, task):
        with executor:
            executor.start(PlannedAttempt(task=task, attempt=3))
            (over,) = all_ended(executor, 1)
        folder = store.folder_of(over.record)
        assert folder.name == "3"
        there = {path.name for path in folder.rglob("*")}
        assert there >= {"record.json", "events.jsonl", "final.json", "agent_run.log"}

    def test_a_second_try_is_kept_beside_the_first(self, executor, store, task):
        with executor:
            for retry_of in (None, 1):
                executor.start(PlannedAttempt(task=task, attempt=1))
                (over,) = all_ended(executor, 1)
                assert over.record.retry_of == retry_of
        assert len(tuple(read_run(store.folder).records())) == 2

    def test_several_are_under_way_and_none_is_lost(self, executor, store, task):
        with executor:
            for number in (1, 2):
                executor.start(PlannedAttempt(task=task, attempt=number))
            over = all_ended(executor, 2)
        assert {each.planned.attempt for each in over} == {1, 2}
        assert tuple(read_run(store.folder).records()) == tuple(each.record for each in over)

    def test_where_nothing_ends_nothing_is_said(self, executor):
        with executor:
            assert executor.ended(within=0.0) == ()
