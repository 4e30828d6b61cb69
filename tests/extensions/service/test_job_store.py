"""Jobs in a file: their order, their ends, and what a restart finds."""

import sqlite3
from pathlib import Path

import pytest

from agentbench.errors import InputError, StorageError, UsageError
from agentbench.extensions.service.job_store import JobStore, KeyReusedError, NewJob
from agentbench.extensions.service.messages import MAX_ENDED, JobState
from agentbench.extensions.service.problems import ProblemCode, ProblemDetails
from agentbench.judge.judge_verdict import DEADLINE_DETAIL, JudgeVerdict
from agentbench.judge.submitted_change import SubmittedChange


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def new_job(job_id: str, patch: str = "a patch", **more: object) -> NewJob:
    change = SubmittedChange.of(patch=patch)
    return NewJob(id=job_id, task_id="small", task_digest="d" * 64, change=change, **more)


def verdict(detail: str = "") -> JudgeVerdict:
    return JudgeVerdict.without_result(
        task_id="small", task_digest="d" * 64, change_digest="c" * 64, detail=detail
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock):
    opened = JobStore(tmp_path / "queue.sqlite", clock=clock)
    yield opened
    opened.close()


def test_a_job_is_stored_with_its_change(store: JobStore) -> None:
    job, is_new = store.add(new_job("one", priority=3, fresh=True, deadline=5.0, group="g"))
    assert is_new
    assert (job.state, job.priority, job.fresh, job.group) == (JobState.QUEUED, 3, True, "g")
    assert (job.due_at - job.created_at).total_seconds() == 5
    assert store.job("one") == job
    assert store.change("one") == (b"a patch\n", False)
    assert store.job("two") is None


def test_the_most_urgent_job_comes_first_and_equals_in_their_order(store: JobStore) -> None:
    for name, priority in (("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)):
        store.add(new_job(name, priority=priority))
    assert [job.id for job in store.waiting(10)] == ["b", "d", "a", "e", "c"]
    assert [job.id for job in store.waiting(2)] == ["b", "d"]


def test_an_idempotency_key_gives_the_first_job(store: JobStore) -> None:
    first, _ = store.add(new_job("one", idempotency_key="k"))
    again, is_new = store.add(new_job("two", idempotency_key="k"))
    assert (again, is_new) == (first, False)
    with pytest.raises(KeyReusedError):
        store.add(new_job("three", "another patch", idempotency_key="k"))
    assert store.job("two") is None
    store.add(new_job("four"))  # jobs without a key do not collide
    store.add(new_job("five"))
    assert store.counts() == (3, 0)


def test_a_job_ends_once(store: JobStore) -> None:
    store.add(new_job("one"))
    store.begin("one", "run", 1)
    assert store.counts() == (0, 1)
    assert store.end("one", JobState.DONE, verdict=verdict("first"))
    assert not store.end("one", JobState.CANCELLED)
    store.begin("one", "run", 2)  # comes too late
    job = store.job("one")
    assert (job.state, job.verdict.detail, len(job.starts)) == (JobState.DONE, "first", 1)
    assert store.counts() == (0, 0)
    assert store.change("one") is None  # it is not needed any more


def test_a_failed_job_keeps_its_error(store: JobStore) -> None:
    store.add(new_job("one"))
    error = ProblemDetails.of(ProblemCode.UNAVAILABLE, "no image")
    store.end("one", JobState.FAILED, error=error)
    assert store.job("one").error == error


def test_ended_jobs_of_a_group_come_in_the_order_of_their_ends(
    store: JobStore, clock: Clock
) -> None:
    for name in ("a", "b", "c"):
        store.add(new_job(name, group="g"))
    store.add(new_job("other", group="h"))
    for name in ("b", "other", "a"):
        store.end(name, JobState.DONE, verdict=verdict())
    first = store.ended("g", 0)
    assert [job.id for job in first] == ["b", "a"]
    clock.now += 100
    store.prune(50.0)  # numbers go on although no ended job is left
    assert store.ended("g", 0) == []
    store.end("c", JobState.CANCELLED)
    assert [job.id for job in store.ended("g", first[-1].ended_number)] == ["c"]
    assert store.open_jobs() == []


def test_one_answer_has_a_limited_number_of_ended_jobs(store: JobStore) -> None:
    for number in range(MAX_ENDED + 5):
        store.add(new_job(str(number), group="g"))
        store.end(str(number), JobState.CANCELLED)
    first = store.ended("g", 0)
    rest = store.ended("g", first[-1].ended_number)
    assert (len(first), len(rest)) == (MAX_ENDED, 5)


def test_open_jobs_are_those_of_a_group_or_all(store: JobStore) -> None:
    for name, group in (("a", "g"), ("b", None), ("c", "h")):
        store.add(new_job(name, group=group))
    store.begin("a", "run", 1)
    assert sorted(store.open_jobs()) == ["a", "b", "c"]
    assert store.open_jobs("g") == ["a"]


def test_a_deadline_ends_the_wait_and_not_the_judging(store: JobStore, clock: Clock) -> None:
    store.add(new_job("late", deadline=10.0))
    store.add(new_job("running", deadline=10.0))
    store.add(new_job("patient"))
    store.begin("running", "run", 1)
    assert store.expire() == []
    clock.now += 10
    assert store.expire() == ["late"]
    job = store.job("late")
    assert (job.state, job.verdict.reward, job.verdict.detail) == (
        JobState.DONE,
        None,
        DEADLINE_DETAIL,
    )
    assert store.counts() == (1, 1)


def test_jobs_survive_and_those_that_ran_wait_again(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    store = JobStore(path)
    store.add(new_job("ran"))
    store.add(new_job("waits"))
    store.add(new_job("done"))
    store.begin("ran", "first-run", 1)
    store.end("done", JobState.DONE, verdict=verdict())
    store.close()
    again = JobStore(path)
    assert [job.id for job in again.waiting(10)] == ["ran", "waits"]
    again.begin("ran", "second-run", 1)
    assert [start.run_id for start in again.job("ran").starts] == ["first-run", "second-run"]
    assert again.job("done").verdict == verdict()
    again.close()


def test_a_second_service_is_refused(store: JobStore, tmp_path: Path) -> None:
    store.add(new_job("one"))
    with pytest.raises(UsageError, match="another service has this queue"):
        JobStore(tmp_path / "queue.sqlite")


def test_a_file_that_is_no_queue_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(InputError, match="expected a queue of a service"):
        JobStore(path)


def test_a_queue_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(InputError, match="found one of a newer version"):
        JobStore(path)


def test_a_queue_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        JobStore(tmp_path / "file" / "queue.sqlite")
