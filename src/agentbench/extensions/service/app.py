"""The web application of the service: its paths, its errors, its OpenAPI description."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from agentbench import __version__
from agentbench.core.access_policy import AccessPolicy
from agentbench.extensions.service.guard import RequestGuard, RequestLimits, problem_response
from agentbench.extensions.service.job_routes import JobRoutes
from agentbench.extensions.service.jobs import ServiceJobs
from agentbench.extensions.service.messages import ServiceStatus, TaskList, TaskSummary
from agentbench.extensions.service.metrics import ServiceMetrics
from agentbench.extensions.service.problems import (
    DESCRIPTIONS,
    MEDIA_TYPE,
    TYPE_PREFIX,
    FieldError,
    ProblemCode,
    ProblemDetails,
    ProblemError,
)
from agentbench.extensions.service.session_routes import SessionRoutes
from agentbench.extensions.service.sessions import OpenSessions
from agentbench.extensions.service.task_catalogue import TaskCatalogue, summary_of
from agentbench.judge.judge import Judge
from agentbench.judge.reward_kind import RewardKind

_MAX_ERRORS: Final = 20
_DESCRIPTION: Final = (
    "Judges changes to tasks: *this patch, this task: reward, reason, evidence*. Refused requests "
    "are answered in the form of RFC 9457."
)
_CODES: Mapping[int, ProblemCode] = {
    404: ProblemCode.NOT_FOUND,
    405: ProblemCode.METHOD_NOT_ALLOWED,
    413: ProblemCode.TOO_LARGE,
    415: ProblemCode.UNSUPPORTED_TYPE,
}
_PROBLEM_RESPONSES: Final[dict[int | str, dict[str, object]]] = {
    "default": {
        "description": "The request was refused",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceParts:
    """The parts of a service that the application uses."""

    judge: Judge
    jobs: ServiceJobs
    sessions: OpenSessions
    tasks: TaskCatalogue
    metrics: ServiceMetrics
    runs_dir: Path
    sandbox: str
    slots: int
    reward: RewardKind


def make_app(parts: ServiceParts, policy: AccessPolicy, limits: RequestLimits) -> ASGIApp:
    """The application."""
    inside = _Api(
        title="agentbench",
        version=__version__,
        description=_DESCRIPTION,
        # Their pages would load a script from elsewhere.
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            ProblemError: _problem,
            RequestValidationError: _invalid_request,
            HTTPException: _http_error,
        },
        responses=_PROBLEM_RESPONSES,
    )
    inside.include_router(JobRoutes(parts.jobs, parts.tasks, parts.runs_dir).router())
    inside.include_router(SessionRoutes(parts.sessions, parts.tasks).router())
    general = _GeneralRoutes(parts)
    get = inside.add_api_route
    get("/v1/status", general.status, response_model=ServiceStatus, tags=["service"])
    get("/v1/tasks", general.tasks, response_model=TaskList, tags=["tasks"])
    get("/v1/tasks/{task_id}", general.task, response_model=TaskSummary, tags=["tasks"])
    get("/metrics", general.metrics, tags=["service"])
    get(f"{TYPE_PREFIX}{{name}}", general.problem, tags=["service"])

    def count(scope: Scope, status: int, seconds: float) -> None:
        # By the path of its route: one with ids would be another metric each time.
        route = getattr(scope.get("route"), "path", "")
        parts.metrics.answered(scope["method"], route, status, seconds)

    return RequestGuard(inside, policy, limits, count)


class _GeneralRoutes:
    """The handlers of everything but jobs and sessions."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def status(self) -> ServiceStatus:
        """The state of the service."""
        parts = self._parts
        queued, running = await parts.jobs.counts()
        return ServiceStatus(
            version=__version__,
            run_id=parts.judge.run_id,
            sandbox=parts.sandbox,
            jobs=parts.slots,
            reward=parts.reward,
            queued=queued,
            running=running,
            sessions=len(parts.sessions),
            is_draining=parts.jobs.is_draining,
        )

    async def tasks(self) -> TaskList:
        """All tasks of the service."""
        return self._parts.tasks.listed()

    async def task(self, task_id: str) -> TaskSummary:
        """A task, as agents may know it."""
        return summary_of(self._parts.tasks.task(task_id))

    async def metrics(self) -> Response:
        """Metrics in Prometheus' text format."""
        parts = self._parts
        queued, running = await parts.jobs.counts()
        text = parts.metrics.text(queued=queued, running=running, sessions=len(parts.sessions))
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def problem(self, name: str) -> dict[str, str | int]:
        """The meaning of a kind of problem."""
        for code, text in DESCRIPTIONS.items():
            if code.type == f"{TYPE_PREFIX}{name}":
                return {"type": code.type, "status": int(code.status), "description": text}
        raise ProblemError(ProblemCode.NOT_FOUND)


class _Api(FastAPI):
    """An application whose description has the form of problems."""

    def openapi(self) -> dict[str, Any]:
        found = super().openapi()
        schema = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
        found["components"]["schemas"] |= {**schema.pop("$defs", {}), "ProblemDetails": schema}
        return found


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(error, request.url.path)


async def _invalid_request(request: Request, error: Exception) -> Response:
    # Without the value that was sent, which may be large.
    assert isinstance(error, RequestValidationError)
    found = [
        FieldError(pointer=".".join(map(str, each["loc"]))[:200], detail=str(each["msg"])[:500])
        for each in error.errors()[:_MAX_ERRORS]
    ]
    detail = "; ".join(f"{each.pointer}: {each.detail}" for each in found)
    problem = ProblemError(ProblemCode.INVALID_REQUEST, detail, errors=tuple(found))
    return problem_response(problem, request.url.path)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code)
    problem = ProblemError(code or ProblemCode.INVALID_REQUEST, "", headers=error.headers)
    # FastAPI could not parse the body.
    if code is None:
        problem = ProblemError(ProblemCode.INVALID_REQUEST, "the body is not JSON in UTF-8")
    return problem_response(problem, request.url.path)
