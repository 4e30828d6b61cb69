"""The queue of a service inside one process: what happens when its disk fails."""

import asyncio
from pathlib import Path

import pytest

from agentbench.errors import StorageError
from agentbench.extensions.service.job_store import JobStore, NewJob
from agentbench.extensions.service.jobs import JobLimits, ServiceJobs
from agentbench.extensions.service.messages import ServiceJob
from agentbench.judge.submitted_change import SubmittedChange
from tests.fakes.staging import own_task
from tests.judge.conftest import FIX, OpenJudge, open_judge, provider

pytestmark = pytest.mark.full

__all__ = ["open_judge", "provider"]


@pytest.mark.parametrize("failing", ["end", "waiting", "expire"])
def test_a_full_disk_delays_a_job_and_does_not_lose_it(
    open_judge: OpenJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    task, judge = own_task(tmp_path / "small"), open_judge()
    ended: list[ServiceJob] = []

    async def main() -> ServiceJob:
        """Submit one job, and wait for its end."""
        store = JobStore(tmp_path / "queue.sqlite")
        works, failures = getattr(store, failing), iter([StorageError("the disk is full")] * 2)

        def fail_twice(*arguments: object, **more: object) -> object:
            """Fail, then work."""
            for error in failures:
                raise error
            return works(*arguments, **more)

        monkeypatch.setattr(store, failing, fail_twice)
        limits = JobLimits()
        jobs = ServiceJobs(
            judge, store, {task.id: task}, jobs=2, limits=limits, on_end=ended.append
        )
        new = NewJob(
            id="one",
            task_id=task.id,
            task_digest=task.digest,
            change=SubmittedChange.of(patch=FIX),
        )
        await jobs.submit(new)
        job = await jobs.job_after("one", lambda job: job.state.has_ended, 600)
        await asyncio.to_thread(judge.close)
        await jobs.close()
        assert next(failures, None) is None
        return job

    job = asyncio.run(main())
    assert job.verdict is not None
    assert job.verdict.resolved
    assert ended == [job]
