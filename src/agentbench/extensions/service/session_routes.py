"""The paths below /v1/sessions: a sandbox for an agent, used from afar."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response

from agentbench.core.schema import JsonObject
from agentbench.errors import (
    InputError,
    SandboxError,
    StorageError,
    UnavailableError,
    UsageError,
)
from agentbench.extensions.service.messages import (
    CommandRequest,
    ScoreRequest,
    SessionDescription,
    SessionRequest,
)
from agentbench.extensions.service.problems import ProblemCode, ProblemError
from agentbench.extensions.service.sessions import OpenSessions
from agentbench.extensions.service.task_catalogue import TaskCatalogue
from agentbench.judge.judge_session import AsyncSession
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.scoring.evidence import CommandResult

FilePath = Annotated[str, Query(min_length=1, max_length=4096)]
ToolArguments = Annotated[dict[str, Any], Body(description="The arguments of the tool.")]
_ONE = "/{session_id}"


class SessionRoutes:
    """The handlers of sessions."""

    def __init__(self, sessions: OpenSessions, tasks: TaskCatalogue) -> None:
        self._sessions = sessions
        self._tasks = tasks

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
        add = router.add_api_route
        add("", self.open, methods=["POST"], status_code=201, response_model=SessionDescription)
        add(_ONE, self.describe, methods=["GET"], response_model=SessionDescription)
        add(_ONE, self.close, methods=["DELETE"], status_code=204)
        add(f"{_ONE}/run", self.run, methods=["POST"], response_model=CommandResult)
        add(f"{_ONE}/file", self.read, methods=["GET"])
        add(
            f"{_ONE}/file",
            self.write,
            methods=["PUT"],
            status_code=204,
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/octet-stream": {
                            "schema": {"type": "string", "format": "binary"}
                        }
                    },
                }
            },
        )
        add(f"{_ONE}/execute_tests", self.execute_tests, methods=["POST"], response_model=None)
        add(f"{_ONE}/discover_tests", self.discover_tests, methods=["POST"], response_model=None)
        add(f"{_ONE}/score", self.score, methods=["POST"], response_model=JudgeVerdict)
        return router

    async def open(self, asked: SessionRequest, response: Response) -> SessionDescription:
        """Open a sandbox for an agent. The answer comes when it is there."""
        task = self._tasks.task(asked.task, asked.task_digest)
        try:
            found = await self._sessions.open(task)
        except (InputError, UsageError) as error:
            raise ProblemError(ProblemCode.INVALID_TASK, str(error)) from None
        except StorageError as error:
            raise ProblemError(ProblemCode.STORAGE, str(error)) from None
        except UnavailableError as error:
            raise ProblemError(ProblemCode.UNAVAILABLE, str(error)) from None
        response.headers["Location"] = f"/v1/sessions/{found.id}"
        return found

    async def describe(self, session_id: str) -> SessionDescription:
        """A session."""
        return self._sessions.describe(session_id)

    async def close(self, session_id: str) -> None:
        """Close a session. Work that was not scored is recorded as interrupted."""
        await self._sessions.close(session_id)

    async def run(self, session_id: str, asked: CommandRequest) -> CommandResult:
        """Run a command, and wait for its end."""
        stdin = asked.stdin.encode() if asked.stdin_base64 is None else asked.stdin_base64
        async with self._used(session_id) as session:
            return await session.run(
                asked.argv, timeout=asked.timeout, stdin=stdin, env=asked.env, cwd=asked.cwd
            )

    async def read(self, session_id: str, path: FilePath) -> Response:
        """The content of a file of the sandbox; a relative path is in the workspace."""
        async with self._used(session_id) as session:
            content = await session.read(path)
        return Response(content, media_type="application/octet-stream")

    async def write(self, session_id: str, path: FilePath, request: Request) -> None:
        """Write a file of the sandbox, and create its folders."""
        content = await request.body()
        async with self._used(session_id) as session:
            await session.write(path, content)

    async def execute_tests(self, session_id: str, asked: ToolArguments) -> JsonObject:
        """Call the tool `execute_tests` of the MCP server: the same arguments, the same answer."""
        async with self._used(session_id) as session:
            return await session.execute_tests(**asked)

    async def discover_tests(self, session_id: str, asked: ToolArguments) -> JsonObject:
        """Call the tool `discover_tests` of the MCP server."""
        async with self._used(session_id) as session:
            return await session.discover_tests(**asked)

    async def score(self, session_id: str, asked: ScoreRequest) -> JudgeVerdict:
        """End the agent's work, and judge what is left. A second call gives the same verdict."""
        async with self._used(session_id) as session:
            return await session.score(ending=asked.ending, detail=asked.detail)

    @asynccontextmanager
    async def _used(self, session_id: str) -> AsyncIterator[AsyncSession]:
        """A session; its errors become answers."""
        try:
            async with self._sessions.used(session_id) as session:
                yield session
        except (SandboxError, UsageError) as error:
            raise ProblemError(ProblemCode.SESSION_ENDED, str(error)) from None
        except StorageError as error:
            raise ProblemError(ProblemCode.STORAGE, str(error)) from None
