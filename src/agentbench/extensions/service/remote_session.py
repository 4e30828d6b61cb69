"""Sessions in the sandboxes of a service: the calls of `Session` and `AsyncSession`, over HTTP."""

import asyncio
import base64
import json
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final, TypeVar

from agentbench.core.schema import JsonObject
from agentbench.errors import AgentbenchError, SandboxError, UsageError
from agentbench.extensions.service.connection import Connection
from agentbench.extensions.service.messages import SessionDescription
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.scoring import Seconds, in_seconds
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem

T = TypeVar("T")
_OCTETS: Final = {"Content-Type": "application/octet-stream"}


class _Calls:
    def __init__(self, connection: Connection, description: SessionDescription) -> None:
        self._connection = connection
        self.description = description
        self.has_ended = False
        self._path = f"/v1/sessions/{description.id}"

    async def run(self, body: Mapping[str, object]) -> CommandResult:
        # Its request is not repeated: the command may have run.
        answer = await self._post("run", body)
        return CommandResult.model_validate_json(answer)

    async def read(self, path: str) -> bytes:
        found = await self._connection.send("GET", f"{self._path}/file", params={"path": path})
        content: bytes = found.content
        return content

    async def write(self, path: str, content: bytes) -> None:
        await self._connection.send(
            "PUT", f"{self._path}/file", params={"path": path}, content=content, headers=_OCTETS
        )

    async def call_tests(self, tool: str, given: Mapping[str, object]) -> JsonObject:
        answer: JsonObject = json.loads(await self._post(tool, given))
        return answer

    async def score(self, ending: AgentEnding | str, detail: str) -> JudgeVerdict:
        try:
            body = {"ending": AgentEnding(ending).value, "detail": detail}
        except ValueError:
            known = ", ".join(AgentEnding)
            raise UsageError(f"ending: expected one of {known}, found {ending!r}") from None
        # Asked for again, the verdict is the same.
        answer = await self._post("score", body, may_repeat=True)
        self.has_ended = True
        return JudgeVerdict.model_validate_json(answer)

    async def close(self) -> None:
        # The service may have closed it already, when it was idle.
        with suppress(SandboxError):
            await self._connection.send("DELETE", self._path)

    async def _post(
        self, name: str, body: Mapping[str, object], *, may_repeat: bool = False
    ) -> bytes:
        answer = await self._connection.send(
            "POST",
            f"{self._path}/{name}",
            body=body,
            may_repeat=may_repeat,
            answer_seconds=None,  # the service ends what takes too long
        )
        content: bytes = answer.content
        return content


def _command(
    command: str | Sequence[str],
    timeout: Seconds | None,
    stdin: bytes,
    env: Mapping[str, str] | None,
    cwd: str | None,
) -> dict[str, object]:
    argv = ("sh", "-c", command) if isinstance(command, str) else tuple(command)
    body: dict[str, object] = {"argv": argv, "env": dict(env or {}), "cwd": cwd}
    if timeout is not None:
        body["timeout"] = in_seconds(timeout)
    if stdin:
        body["stdin_base64"] = base64.b64encode(stdin).decode()
    return body


class _Described:
    """The properties of both kinds of sessions, which need no request."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    @property
    def problem(self) -> Problem:
        """The part of the task that an agent may know: instruction, test command, limits."""
        return self._calls.description.problem

    @property
    def workspace(self) -> PurePosixPath:
        """The folder of the repository in the sandbox."""
        found = self._calls.description.workspace
        if found is None or self._calls.has_ended:
            raise SandboxError("the session has no sandbox: it has ended, or its task failed")
        return PurePosixPath(found)

    @property
    def is_ready(self) -> bool:
        """Whether there is a sandbox; without one, `score` says what failed before."""
        return self._calls.description.is_ready and not self._calls.has_ended


class AsyncRemoteSession(_Described):
    """The calls of `AsyncSession`, which says what they do."""

    def __init__(self, calls: _Calls, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(calls)
        self._loop = loop

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: Seconds | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        return await self._call(self._calls.run(_command(command, timeout, stdin, env, cwd)))

    async def read(self, path: str) -> bytes:
        return await self._call(self._calls.read(path))

    async def write(self, path: str, content: bytes | str) -> None:
        await self._call(self._calls.write(path, _bytes(content)))

    async def execute_tests(self, **tool_arguments: object) -> JsonObject:
        return await self._call(self._calls.call_tests("execute_tests", tool_arguments))

    async def discover_tests(self, **tool_arguments: object) -> JsonObject:
        return await self._call(self._calls.call_tests("discover_tests", tool_arguments))

    async def score(
        self, *, ending: AgentEnding | str = AgentEnding.SUBMITTED, detail: str = ""
    ) -> JudgeVerdict:
        return await self._call(self._calls.score(ending, detail))

    async def _call(self, work: Coroutine[object, object, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class RemoteSession(_Described):
    """The calls of `Session`, which says what they do. They block."""

    def __init__(self, calls: _Calls, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(calls)
        self._loop = loop

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: Seconds | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        return self._call(self._calls.run(_command(command, timeout, stdin, env, cwd)))

    def read(self, path: str) -> bytes:
        return self._call(self._calls.read(path))

    def write(self, path: str, content: bytes | str) -> None:
        self._call(self._calls.write(path, _bytes(content)))

    def execute_tests(self, **tool_arguments: object) -> JsonObject:
        return self._call(self._calls.call_tests("execute_tests", tool_arguments))

    def discover_tests(self, **tool_arguments: object) -> JsonObject:
        return self._call(self._calls.call_tests("discover_tests", tool_arguments))

    def score(
        self, *, ending: AgentEnding | str = AgentEnding.SUBMITTED, detail: str = ""
    ) -> JudgeVerdict:
        return self._call(self._calls.score(ending, detail))

    def _call(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class RemoteSessionContext:
    """`with` gives a `RemoteSession`, `async with` an `AsyncRemoteSession`."""

    def __init__(
        self,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        task: Mapping[str, str],
    ) -> None:
        """A session that is not open yet, for the task in a request."""
        self._connection = connection
        self._loop = loop
        self._task = task
        self._calls: _Calls | None = None

    def __enter__(self) -> RemoteSession:
        calls = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return RemoteSession(calls, self._loop)

    def __exit__(self, *_error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()

    async def __aenter__(self) -> AsyncRemoteSession:
        opening = asyncio.run_coroutine_threadsafe(self._open(), self._loop)
        return AsyncRemoteSession(await asyncio.wrap_future(opening), self._loop)

    async def __aexit__(self, *_error: object) -> None:
        closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        await asyncio.shield(asyncio.wrap_future(closing))

    async def _open(self) -> _Calls:
        opening = asyncio.ensure_future(
            self._connection.send(
                "POST", "/v1/sessions", body=self._task, may_repeat=False, answer_seconds=None
            )
        )
        try:
            answer = await asyncio.shield(opening)
        # The service may have opened the session, which nobody would close.
        except asyncio.CancelledError:
            with suppress(AgentbenchError):
                found = SessionDescription.model_validate_json((await opening).content)
                await _Calls(self._connection, found).close()
            raise
        description = SessionDescription.model_validate_json(answer.content)
        self._calls = _Calls(self._connection, description)
        return self._calls

    async def _close(self) -> None:
        if self._calls is not None:
            await self._calls.close()


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
