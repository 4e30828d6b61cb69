"""Checks each request before the service reads it, and limits its body, its time and its answer.

It is middleware around the whole application: without a valid token nothing inside is reached.
"""

import asyncio
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentbench.core.access_policy import AccessPolicy, bearer_token
from agentbench.extensions.service.problems import MEDIA_TYPE, ProblemCode, ProblemError

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

_MAX_DIGITS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request."""

    max_body_bytes: int = 64 << 20
    grace_seconds: float = 20.0
    """The time in which a small body must arrive, or a part of an answer must be read."""
    min_bytes_per_second: int = 8 << 10
    """A larger body must arrive at this rate or faster."""


def problem_response(error: ProblemError, path: str) -> Response:
    """The answer of a refused request."""
    details = error.details.replace(instance=path)
    return Response(
        details.model_dump_json(exclude_defaults=True),
        status_code=int(error.code.status),
        headers=error.headers,
        media_type=MEDIA_TYPE,
    )


class RequestGuard:
    """Middleware that checks the Host, the origin and the token, and limits each request."""

    def __init__(
        self,
        inside: ASGIApp,
        policy: AccessPolicy,
        limits: RequestLimits,
        on_answer: Callable[[Scope, int, float], None],
    ) -> None:
        """Guard an application.

        Args:
            inside: The application.
            policy: The conditions for access.
            limits: The limits of one request.
            on_answer: Called with the scope, the status and the duration in seconds of each answer.
        """
        self._inside = inside
        self._policy = policy
        self._limits = limits
        self._on_answer = on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # only HTTP is supported
        await _GuardedRequest(scope, receive, send, self._limits).run(
            self._inside, self._policy, self._on_answer
        )


class _GuardedRequest:
    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: RequestLimits) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._limits = limits
        self._began = time.monotonic()
        self._body_bytes = 0
        self._is_read = False
        self._status = 0
        self._refusal: ProblemError | None = None
        headers = Headers(scope=scope)
        self._has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"

    async def run(
        self,
        inside: ASGIApp,
        policy: AccessPolicy,
        on_answer: Callable[[Scope, int, float], None],
    ) -> None:
        async def send_unless_refused(message: Message) -> None:
            if self._refusal is None or self._status:
                await self.send(message)

        try:
            _check_access(self._scope, policy)
            self._check_length()
            await inside(self._scope, self.receive, send_unless_refused)
            if self._refusal is not None:
                await self._refuse(self._refusal)
        except ProblemError as error:
            await self._refuse(error)
        # By uvicorn, at the service's end: a client must not take that for a bug.
        except asyncio.CancelledError:
            if not self._status:
                await self._refuse(ProblemError(ProblemCode.DRAINING))
        except Exception as error:  # noqa: BLE001 - a bug, which must not leave a client waiting
            traceback.print_exception(error, file=sys.stderr)
            await self._refuse(ProblemError(ProblemCode.INTERNAL))
        finally:
            on_answer(self._scope, self._status, time.monotonic() - self._began)

    async def receive(self) -> Message:
        if self._is_read:
            return await self._receive()  # waits for the end of the connection
        rate = self._body_bytes / self._limits.min_bytes_per_second
        left = self._began + self._limits.grace_seconds + rate - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, left)):
                message = await self._receive()
        except TimeoutError:
            raise self._refused(ProblemError(ProblemCode.TOO_SLOW)) from None
        self._body_bytes += len(message.get("body", b""))
        self._is_read = not message.get("more_body", False)
        if self._body_bytes > self._limits.max_body_bytes:
            raise self._refused(self._too_large(self._body_bytes))
        return message

    def _refused(self, error: ProblemError) -> ProblemError:
        # It is also the answer if the application catches it.
        self._refusal = error
        return error

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            # The server would read the rest of a refused body.
            if self._has_body and not self._is_read:
                headers["Connection"] = "close"
        try:
            async with asyncio.timeout(self._limits.grace_seconds):
                await self._send(message)
        except TimeoutError:
            raise ConnectionAbortedError("the client does not read the answer") from None

    async def _refuse(self, error: ProblemError) -> None:
        if self._status:
            raise ConnectionAbortedError("refused after the answer began") from error
        response = problem_response(error, self._scope["path"])
        await response(self._scope, self._receive, self.send)

    def _check_length(self) -> None:
        declared = Headers(scope=self._scope).get("content-length", "0")
        # Python refuses to read a number of thousands of digits, which a client may send.
        length = int(declared[:_MAX_DIGITS]) if declared.isascii() and declared.isdigit() else 0
        if length > self._limits.max_body_bytes:
            raise self._too_large(length)

    def _too_large(self, found: int) -> ProblemError:
        allowed = self._limits.max_body_bytes
        return ProblemError(
            ProblemCode.TOO_LARGE, f"expected at most {allowed} bytes, found {found} or more"
        )


def _check_access(scope: Scope, policy: AccessPolicy) -> None:
    headers = Headers(scope=scope)
    # A web page that makes a browser send requests cannot know the token. A service with a token
    # may have any names, behind a proxy or in a cluster, so that only others check Host and Origin.
    if policy.token is not None:
        token = bearer_token(headers.get("authorization", ""))
        if token is None or not policy.accepts_token(token):
            raise ProblemError(ProblemCode.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
        return
    host = headers.get("host", "")
    if not policy.allows_host(host):
        raise ProblemError(ProblemCode.WRONG_HOST)
    origin = headers.get("origin")
    if origin is not None and origin != f"{scope['scheme']}://{host}":
        raise ProblemError(ProblemCode.FOREIGN_ORIGIN)
