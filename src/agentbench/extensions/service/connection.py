"""A client's requests: repeated while the service restarts, their refusals as exceptions."""

from collections.abc import Mapping
from typing import Final, TypeVar

import httpx2
from pydantic import ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from agentbench.core.schema import Schema
from agentbench.errors import (
    AgentbenchError,
    InputError,
    SandboxError,
    StorageError,
    UnavailableError,
    UsageError,
)
from agentbench.extensions.service.messages import MAX_WAIT
from agentbench.extensions.service.problems import MEDIA_TYPE, ProblemCode, ProblemDetails

S = TypeVar("S", bound=Schema)
_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = MAX_WAIT + 30.0
_MAX_PAUSE: Final = 5.0  # seconds between two attempts
_ERRORS: Final[Mapping[str, type[AgentbenchError]]] = {
    ProblemCode.UNAUTHORIZED.type: UsageError,
    ProblemCode.WRONG_HOST.type: UsageError,
    ProblemCode.FOREIGN_ORIGIN.type: UsageError,
    ProblemCode.SESSION_ENDED.type: SandboxError,
    ProblemCode.UNKNOWN_SESSION.type: SandboxError,
    ProblemCode.UNAVAILABLE.type: UnavailableError,
    ProblemCode.DRAINING.type: UnavailableError,
    ProblemCode.TOO_MANY_JOBS.type: UnavailableError,
    ProblemCode.TOO_MANY_SESSIONS.type: UnavailableError,
    ProblemCode.STORAGE.type: StorageError,
    ProblemCode.INTERNAL.type: UnavailableError,
}
# The service refuses for now: too many jobs, or it stops and its next start will answer.
_PASSES_BY: Final = {429, 503}


class _RefusedError(Exception):
    def __init__(self, problem: ProblemDetails) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def error_of(problem: ProblemDetails) -> AgentbenchError:
    """The exception for a refusal: an InputError, unless its kind says otherwise."""
    message = f"{problem.title}: {problem.detail}"
    return _ERRORS.get(problem.type, InputError)(message)


class Connection:
    """Requests to one service; used in one event loop."""

    def __init__(
        self,
        url: str,
        token: str | None,
        patience: float,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Make requests to the service at an address.

        Args:
            url: The address.
            token: The token; None: none is needed.
            patience: For how many seconds a request is repeated.
            transport: The transport of HTTP; None: the usual one.
        """
        self._url = url
        self._patience = patience
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
            transport=transport,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get(
        self,
        path: str,
        kind: type[S],
        *,
        params: Mapping[str, object] | None = None,
        patience: float | None = None,
    ) -> S:
        """The answer to a GET request; see `send`."""
        answer = await self.send("GET", path, params=params, patience=patience)
        try:
            return kind.model_validate_json(answer.content)
        except ValidationError:
            raise UnavailableError(
                f"{self._url}: expected `agentbench serve` of this version, found another server"
            ) from None

    async def send(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, object] | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        patience: float | None = None,
        may_repeat: bool = True,
        answer_seconds: float | None = _ANSWER_SECONDS,
    ) -> httpx2.Response:
        """The answer to a request, which is repeated while the service cannot be reached.

        Args:
            method: GET, POST, PUT or DELETE.
            path: The path, from the root of the service.
            params: The query.
            body: A value to send as JSON.
            content: Bytes to send instead.
            headers: Headers besides the token.
            patience: For how many seconds the request is repeated; None: as set for all.
            may_repeat: Whether a request that may have reached the service is repeated.
            answer_seconds: How long an answer may take; None: without a limit.

        Raises:
            UnavailableError: the service does not answer.
            AgentbenchError: it refuses the request.
        """
        request = self._http.build_request(
            method,
            path,
            params={name: str(value) for name, value in (params or {}).items()},
            json=body,
            content=content,
            headers=dict(headers or {}),
            timeout=httpx2.Timeout(answer_seconds, connect=_CONNECT_SECONDS, pool=None),
        )

        def is_worth_another(error: BaseException) -> bool:
            # A command of a session may have run, so its request is repeated only if it was not
            # sent at all.
            if isinstance(error, httpx2.TransportError):
                unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                return unsent or may_repeat
            return isinstance(error, _RefusedError)

        def last_error(state: RetryCallState) -> httpx2.Response:
            # Raises what the last attempt raised, not an error of the retries.
            assert state.outcome is not None
            found: httpx2.Response = state.outcome.result()
            return found

        async def answered() -> httpx2.Response:
            answer = await self._http.send(request)
            if answer.is_success:
                return answer
            problem = _problem_in(answer)
            if answer.status_code in _PASSES_BY:
                raise _RefusedError(problem)
            raise error_of(problem)

        limit = self._patience if patience is None else patience
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_worth_another),
            stop=stop_after_delay(limit),
            wait=wait_random_exponential(multiplier=0.1, max=_MAX_PAUSE),
            retry_error_callback=last_error,
        )
        try:
            return await retrying(answered)
        except httpx2.TransportError as error:
            reason = str(error) or type(error).__name__
            raise UnavailableError(
                f"{self._url}: the service does not answer ({reason}); start it with "
                "`agentbench serve`"
            ) from None
        except _RefusedError as error:
            raise error_of(error.problem) from None


def _problem_in(answer: httpx2.Response) -> ProblemDetails:
    if answer.headers.get("content-type", "").startswith(MEDIA_TYPE):
        try:
            return ProblemDetails.model_validate_json(answer.content)
        except ValidationError:
            pass
    # A proxy before the service, or another server, answers in a form of its own.
    text = answer.text[:200].strip()
    return ProblemDetails(
        type="about:blank",
        title=f"HTTP {answer.status_code}",
        status=answer.status_code,
        detail=text or answer.reason_phrase,
    )
