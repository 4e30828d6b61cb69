"""A judge that is elsewhere: the calls of `Judge`, made over HTTP to `agentbench serve`.

>>> async with RemoteJudge("http://judge:8767") as judge:  # doctest: +SKIP
...     verdict = await judge.score("lru-expiry", patch=patch)
"""

import asyncio
import base64
import os
import secrets
from collections.abc import AsyncIterable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final, Self, TypeVar

import httpx2

from agentbench.errors import UsageError
from agentbench.extensions.service.connection import Connection, error_of
from agentbench.extensions.service.messages import (
    MAX_WAIT,
    TAR,
    TOKEN_VARIABLE,
    EndedJobs,
    ServiceJob,
    ServiceStatus,
    TaskList,
    TaskSummary,
)
from agentbench.extensions.service.remote_session import RemoteSessionContext
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.scoring import ScoreStream, Scoring, Seconds, Submission, in_seconds
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.tasks.task import Task

T = TypeVar("T")
_AHEAD: Final = 4
_AT_A_TIME: Final = 16  # submissions that are being sent
_CLOSE_SECONDS: Final = 30.0
_NOT_OPEN: Final = "the judge is not open; use it in a `with` or `async with` block"


@dataclass(slots=True, kw_only=True)
class _OpenClient:
    loop: asyncio.AbstractEventLoop
    thread: Thread
    connection: Connection
    slots: int
    """The changes that the service judges at a time."""
    group: str
    """The name of this client's jobs."""
    submitting: asyncio.Semaphore
    waiting: dict[str, "asyncio.Future[ServiceJob]"] = field(default_factory=dict)
    ended: dict[str, ServiceJob] = field(default_factory=dict)
    """Jobs that ended before the answer to their submission came."""
    submissions: int = 0
    """The number of submissions without an answer."""
    polling: "asyncio.Task[None] | None" = None
    running: set["Future[JudgeVerdict]"] = field(default_factory=set)

    @contextmanager
    def submission(self) -> Iterator[None]:
        """Store jobs that end during the block; the submitted one may be among them."""
        self.submissions += 1
        try:
            yield
        finally:
            self.submissions -= 1
            if not self.submissions:
                self.ended.clear()


class RemoteJudge:
    """Scores changes with the service at an address. Used like `Judge`, from threads or asyncio.

    If the service restarts, calls wait for it: its jobs are not lost, and requests are repeated
    without doing anything twice. Sessions do end with the service.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        patience: float = 300.0,
        http: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Prepare a client; `with` or `async with` opens it.

        Args:
            url: The address of the service.
            token: Its token; None: that of AGENTBENCH_SERVE_TOKEN, if it is set.
            patience: For how many seconds an unreachable service is tried again.
            http: The transport of HTTP, for proxies or certificates of your own.
        """
        self._url = url.rstrip("/")
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE) or None
        self._patience = patience
        self._http = http
        self._client: _OpenClient | None = None

    def open(self) -> None:
        """Connect to the service.

        Raises:
            UsageError: the client is open, or the token is wrong.
            UnavailableError: nothing answers at the address.
        """
        if self._client is not None:
            raise UsageError("the judge is open already")
        loop = asyncio.new_event_loop()

        def run_loop() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()

        thread = Thread(target=run_loop, name="remote-judge", daemon=True)
        thread.start()
        try:
            self._client = self._call(self._opened(loop, thread), loop).result()
        except BaseException:
            _end_loop(loop, thread)
            raise

    def close(self) -> None:
        """Cancel what has not ended, and disconnect."""
        client, self._client = self._client, None
        if client is None:
            return
        for future in tuple(client.running):
            future.cancel()

        async def disconnect() -> None:
            if client.polling is not None:
                client.polling.cancel()
            # Jobs whose cancellation has not been sent yet.
            with suppress(Exception):
                params: dict[str, object] = {"group": client.group}
                await client.connection.send("DELETE", "/v1/jobs", params=params, patience=0.0)
            await client.connection.close()

        # The service may be gone, too.
        with suppress(Exception):
            self._call(disconnect(), client.loop).result(_CLOSE_SECONDS)
        _end_loop(client.loop, client.thread)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.open)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.close)

    def status(self) -> ServiceStatus:
        """The state of the service.

        Raises:
            UnavailableError: the service does not answer.
        """
        client = self._opened_client()
        call = client.connection.get("/v1/status", ServiceStatus)
        return self._call(call, client.loop).result()

    def tasks(self) -> tuple[TaskSummary, ...]:
        """The tasks of the service.

        Raises:
            UnavailableError: the service does not answer.
        """
        client = self._opened_client()
        call = client.connection.get("/v1/tasks", TaskList)
        return self._call(call, client.loop).result().tasks

    def score(
        self,
        task: Task | str,
        *,
        patch: Path | str | bytes | None = None,
        tree: Path | str | bytes | None = None,
        priority: int = 0,
        deadline: Seconds | None = None,
        fresh: bool = False,
    ) -> Scoring:
        """Judge a change. `await` the result, or call its `result()`.

        Args:
            task: The id of a task of the service; or a task, whose digest must be that of the
                service's.
            patch: A unified diff against the task's base commit, or the path of a file with one.
            tree: The files of the changed repository instead: a folder, or a tar as bytes.
            priority: Higher numbers start earlier.
            deadline: Seconds from now. When they have passed, the verdict has no reward.
            fresh: Judge the change even if an equal one has a verdict.

        Raises:
            UsageError: the judge is not open, or not exactly one change is given.
        """
        return self.submit(
            Submission(
                task=task, patch=patch, tree=tree, priority=priority, deadline=deadline, fresh=fresh
            )
        )

    def submit(self, submission: Submission) -> Scoring:
        """Judge a change, like `score`, which says what the fields mean.

        Raises:
            UsageError: the judge is not open, or not exactly one change is given.
        """
        client = self._opened_client()
        if (submission.patch is None) == (submission.tree is None):
            found = "neither" if submission.patch is None else "both"
            raise UsageError(f"expected a patch or a tree, found {found}")
        future = self._call(_scored(client, submission), client.loop)
        client.running.add(future)
        future.add_done_callback(client.running.discard)
        return Scoring(future)

    def score_many(
        self,
        submissions: Iterable[Submission] | AsyncIterable[Submission],
        *,
        ahead: int | None = None,
    ) -> ScoreStream:
        """Judge many changes: yields the position of each with its verdict, as they end.

        Args:
            submissions: The changes; only `ahead` of them are taken before verdicts are consumed.
            ahead: How many changes wait or run at a time; None: four for each job of the service.

        Raises:
            UsageError: the judge is not open, or `ahead` is below 1.
        """
        client = self._opened_client()
        if ahead is not None and ahead < 1:
            raise UsageError(f"ahead: {ahead} is not above 0")
        return ScoreStream(submissions, self.submit, ahead or _AHEAD * client.slots)

    def session(self, task: Task | str) -> RemoteSessionContext:
        """A sandbox of the service in which an agent of yours works; see `Judge.session`.

        Args:
            task: The id of a task of the service, or a task.

        Raises:
            UsageError: the judge is not open.
        """
        client = self._opened_client()
        return RemoteSessionContext(client.connection, client.loop, _named(task))

    def _opened_client(self) -> _OpenClient:
        if self._client is None:
            raise UsageError(_NOT_OPEN)
        return self._client

    async def _opened(self, loop: asyncio.AbstractEventLoop, thread: Thread) -> _OpenClient:
        connection = Connection(self._url, self._token, self._patience, self._http)
        try:
            status = await connection.get("/v1/status", ServiceStatus, patience=0.0)
        except BaseException:
            await connection.close()
            raise
        return _OpenClient(
            loop=loop,
            thread=thread,
            connection=connection,
            slots=status.jobs,
            group=secrets.token_hex(8),
            submitting=asyncio.Semaphore(_AT_A_TIME),
        )

    @staticmethod
    def _call(work: Coroutine[object, object, T], loop: asyncio.AbstractEventLoop) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, loop)


def _named(task: Task | Path | str) -> dict[str, str]:
    if isinstance(task, Task):
        return {"task": task.id, "task_digest": task.digest}
    return {"task": str(task)}


async def _scored(client: _OpenClient, submission: Submission) -> JudgeVerdict:
    """Submit a change, and wait for its verdict.

    Raises:
        AgentbenchError: the service refuses the change, or does not answer.
    """
    submitting = asyncio.ensure_future(_submitted(client, submission))
    try:
        with client.submission():
            job = await asyncio.shield(submitting)
            waiting: asyncio.Future[ServiceJob] = asyncio.get_running_loop().create_future()
            # A job may end before the answer to its submission comes.
            known = job if job.state.has_ended else client.ended.pop(job.id, None)
            if known is not None:
                waiting.set_result(known)
            else:
                client.waiting[job.id] = waiting
                if client.polling is None:
                    client.polling = asyncio.create_task(_poll(client))
        ended = await waiting
    except asyncio.CancelledError:
        # The service may have the job already, so its submission is awaited and then cancelled.
        with suppress(Exception):
            job = await submitting
            client.waiting.pop(job.id, None)
            await client.connection.send("DELETE", f"/v1/jobs/{job.id}")
        raise
    if ended.verdict is not None:
        return ended.verdict
    if ended.error is not None:
        raise error_of(ended.error)
    raise asyncio.CancelledError  # somebody else cancelled the job


async def _submitted(client: _OpenClient, submission: Submission) -> ServiceJob:
    change = await asyncio.to_thread(
        SubmittedChange.of, patch=submission.patch, tree=submission.tree
    )
    facts: dict[str, object] = {
        **_named(submission.task),
        "priority": submission.priority,
        "fresh": submission.fresh,
        "group": client.group,
    }
    if submission.deadline is not None:
        facts["deadline"] = in_seconds(submission.deadline)
    # A repeated submission gets the job of the first one.
    headers = {"Idempotency-Key": secrets.token_hex(16)}
    send = client.connection.send
    async with client.submitting:
        if change.paths is not None:
            headers["Content-Type"] = TAR
            path, params, content = "/v1/jobs/tree", facts, change.content
            answer = await send("POST", path, params=params, content=content, headers=headers)
        else:
            body = facts
            try:
                body["patch"] = change.content.decode()
            # JSON has no bytes, and a patch may have any.
            except UnicodeDecodeError:
                body["patch_base64"] = base64.b64encode(change.content).decode()
            answer = await send("POST", "/v1/jobs", body=body, headers=headers)
    job: ServiceJob = ServiceJob.model_validate_json(answer.content)
    return job


async def _poll(client: _OpenClient) -> None:
    # One long-poll for all jobs that somebody waits for, whatever their number.
    after = 0
    try:
        while True:
            params = {"group": client.group, "after": after, "wait": MAX_WAIT}
            found = await client.connection.get("/v1/jobs", EndedJobs, params=params)
            after = found.last
            for job in found.jobs:
                waiting = client.waiting.pop(job.id, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(job)
                elif client.submissions:
                    client.ended[job.id] = job
    except Exception as error:  # noqa: BLE001 - raised in all scorings that wait
        client.polling = None
        waiters = tuple(client.waiting.values())
        client.waiting.clear()
        for waiting in waiters:
            if not waiting.done():
                waiting.set_exception(error)


def _end_loop(loop: asyncio.AbstractEventLoop, thread: Thread) -> None:
    async def end() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    with suppress(Exception):
        asyncio.run_coroutine_threadsafe(end(), loop).result(_CLOSE_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_CLOSE_SECONDS)
    if not thread.is_alive():
        loop.close()
