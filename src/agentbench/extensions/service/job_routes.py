"""The paths below /v1/jobs."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from agentbench.errors import InputError
from agentbench.extensions.service.job_store import NewJob
from agentbench.extensions.service.jobs import ServiceJobs
from agentbench.extensions.service.messages import (
    MAX_WAIT,
    TAR,
    EndedJobs,
    Group,
    JobFields,
    JobRequest,
    ServiceJob,
)
from agentbench.extensions.service.problems import ProblemCode, ProblemError
from agentbench.extensions.service.task_catalogue import TaskCatalogue
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.tasks.task import Task

_ID_BYTES: Final = 16
_KEEP_ALIVE: Final = 15.0  # seconds between two events of a stream in which nothing happens
Wait = Annotated[float, Query(ge=0, le=MAX_WAIT)]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=255)]


class JobRoutes:
    """The handlers of jobs."""

    def __init__(self, jobs: ServiceJobs, tasks: TaskCatalogue, runs_dir: Path) -> None:
        self._jobs = jobs
        self._tasks = tasks
        self._runs_dir = runs_dir

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
        add = router.add_api_route
        add("", self.submit, methods=["POST"], status_code=202, response_model=ServiceJob)
        add("", self.ended, methods=["GET"], response_model=EndedJobs)
        add("", self.cancel_group, methods=["DELETE"])
        add(
            "/tree",
            self.submit_tree,
            methods=["POST"],
            status_code=202,
            response_model=ServiceJob,
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {TAR: {"schema": {"type": "string", "format": "binary"}}},
                }
            },
        )
        add("/{job_id}", self.job, methods=["GET"], response_model=ServiceJob)
        add("/{job_id}", self.cancel, methods=["DELETE"], response_model=ServiceJob)
        add("/{job_id}/record", self.record, methods=["GET"])

        async def known(job_id: str) -> None:
            await self._jobs.job(job_id)

        # Once a stream has begun, it is too late for the answer that there is no such job.
        add(
            "/{job_id}/events",
            self.events_of,
            methods=["GET"],
            response_class=EventSourceResponse,
            dependencies=[Depends(known)],
        )
        return router

    async def submit(
        self, asked: JobRequest, response: Response, idempotency_key: IdempotencyKey = None
    ) -> ServiceJob:
        """Submit a patch. Once the answer is there, the job survives a restart.

        A request with the Idempotency-Key of an earlier one gets that job, so it can be repeated.
        """
        patch = asked.patch if asked.patch_base64 is None else asked.patch_base64
        task = self._tasks.task(asked.task, asked.task_digest)
        change = await _change(partial(SubmittedChange.of, patch=patch))
        return await self._submitted(_new_job(task, change, asked, idempotency_key), response)

    async def submit_tree(
        self,
        request: Request,
        response: Response,
        asked: Annotated[JobFields, Query()],
        idempotency_key: IdempotencyKey = None,
    ) -> ServiceJob:
        """Submit the files of the changed repository as an uncompressed tar, instead of a patch."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != TAR or "content-encoding" in request.headers:
            raise ProblemError(ProblemCode.UNSUPPORTED_TYPE, f"expected {TAR}, not compressed")
        task = self._tasks.task(asked.task, asked.task_digest)
        change = await _change(partial(SubmittedChange.of, tree=await request.body()))
        return await self._submitted(_new_job(task, change, asked, idempotency_key), response)

    async def job(self, job_id: str, wait: Wait = 0.0) -> ServiceJob:
        """A job. With `wait`, the answer comes when it has ended, or after so many seconds."""
        return await self._jobs.job_after(job_id, lambda job: job.state.has_ended, wait)

    async def ended(
        self,
        group: Annotated[Group, Query()],
        after: Annotated[int, Query(ge=0)] = 0,
        wait: Wait = 0.0,
    ) -> EndedJobs:
        """The jobs of a group that ended after another one, at most 100.

        With `wait`, an answer without jobs comes after so many seconds. Pass the answer's `last`
        as the next request's `after`.
        """
        return await self._jobs.ended(group, after, wait)

    async def cancel(self, job_id: str) -> ServiceJob:
        """Cancel a job, and remove its sandboxes. A job that has ended stays as it is."""
        return await self._jobs.cancel(job_id)

    async def cancel_group(self, group: Annotated[Group, Query()]) -> dict[str, int]:
        """Cancel all jobs of a group that have not ended."""
        return {"cancelled": await self._jobs.cancel_group(group)}

    async def record(self, job_id: str) -> Response:
        """The record of the attempt: its stages, its tests, the findings of the checks."""
        verdict = (await self._jobs.job(job_id)).verdict
        if verdict is None or verdict.run_id is None or verdict.folder is None:
            raise ProblemError(ProblemCode.NO_RECORD)
        path = self._runs_dir / verdict.run_id / verdict.folder / "record.json"
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError:
            raise ProblemError(ProblemCode.NO_RECORD) from None
        return Response(content, media_type="application/json")

    async def events_of(
        self, job_id: str, last_event_id: Annotated[str | None, Header()] = None
    ) -> AsyncIterator[ServerSentEvent]:
        """The states of a job as server-sent events, until it or the service has ended.

        Each event has the name of the state and the job as its data.
        """
        seen = last_event_id
        has_ended = False
        while not has_ended and not self._jobs.has_released:

            def is_news(job: ServiceJob, last: str | None = seen) -> bool:
                return _event_id(job) != last or job.state.has_ended

            job = await self._jobs.job_after(job_id, is_news, _KEEP_ALIVE)
            has_ended = job.state.has_ended
            if is_news(job):
                seen = _event_id(job)
                yield ServerSentEvent(data=job, event=job.state.value, id=seen)
            # A proxy may close a connection without traffic.
            else:
                yield ServerSentEvent(comment="waiting")

    async def _submitted(self, new: NewJob, response: Response) -> ServiceJob:
        job, is_new = await self._jobs.submit(new)
        response.status_code = 202 if is_new else 200
        response.headers["Location"] = f"/v1/jobs/{job.id}"
        return job


def _new_job(task: Task, change: SubmittedChange, asked: JobFields, key: str | None) -> NewJob:
    return NewJob(
        id=secrets.token_urlsafe(_ID_BYTES),
        task_id=task.id,
        task_digest=task.digest,
        change=change,
        priority=asked.priority,
        fresh=asked.fresh,
        deadline=asked.deadline,
        group=asked.group,
        idempotency_key=key,
    )


def _event_id(job: ServiceJob) -> str:
    return f"{len(job.starts)}-{job.state.value}"


async def _change(make: "partial[SubmittedChange]") -> SubmittedChange:
    """The submitted change, checked in a thread.

    Raises:
        ProblemError: it cannot be judged at all.
    """
    try:
        return await asyncio.to_thread(make)
    except InputError as error:
        raise ProblemError(ProblemCode.INVALID_CHANGE, str(error)) from None
