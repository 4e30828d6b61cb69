"""Answers of a service that refuses a request, in the form of RFC 9457."""

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from pydantic import Field

from agentbench.core.schema import Schema

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "/problems/"
"""The types of problems are below this path of the service, which describes them there."""


class ProblemCode(Enum):
    """The kinds of problems, with the status and the title of each answer."""

    INVALID_REQUEST = ("invalid-request", HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid request")
    INVALID_CHANGE = ("invalid-change", HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid change")
    UNSUPPORTED_TYPE = (
        "unsupported-type",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "Unsupported type of body",
    )
    TOO_LARGE = ("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Body too large")
    TOO_SLOW = ("too-slow", HTTPStatus.REQUEST_TIMEOUT, "Body too slow")
    UNAUTHORIZED = ("unauthorized", HTTPStatus.UNAUTHORIZED, "Token missing or wrong")
    FOREIGN_ORIGIN = ("foreign-origin", HTTPStatus.FORBIDDEN, "Request by another web site")
    WRONG_HOST = ("wrong-host", HTTPStatus.MISDIRECTED_REQUEST, "Unknown host name")
    NOT_FOUND = ("not-found", HTTPStatus.NOT_FOUND, "Not found")
    METHOD_NOT_ALLOWED = (
        "method-not-allowed",
        HTTPStatus.METHOD_NOT_ALLOWED,
        "Method not allowed",
    )
    UNKNOWN_TASK = ("unknown-task", HTTPStatus.NOT_FOUND, "Unknown task")
    UNKNOWN_JOB = ("unknown-job", HTTPStatus.NOT_FOUND, "Unknown job")
    UNKNOWN_SESSION = ("unknown-session", HTTPStatus.NOT_FOUND, "Unknown session")
    NO_RECORD = ("no-record", HTTPStatus.NOT_FOUND, "No record")
    TASK_CHANGED = ("task-changed", HTTPStatus.CONFLICT, "Another version of the task")
    KEY_REUSED = ("key-reused", HTTPStatus.UNPROCESSABLE_ENTITY, "Idempotency key reused")
    SESSION_ENDED = ("session-ended", HTTPStatus.CONFLICT, "Session without a sandbox")
    TOO_MANY_SESSIONS = (
        "too-many-sessions",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many sessions",
    )
    TOO_MANY_JOBS = ("too-many-jobs", HTTPStatus.TOO_MANY_REQUESTS, "Too many waiting jobs")
    INVALID_TASK = ("invalid-task", HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid task")
    UNAVAILABLE = ("unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "Not available")
    DRAINING = ("draining", HTTPStatus.SERVICE_UNAVAILABLE, "The service is stopping")
    STORAGE = ("storage", HTTPStatus.INSUFFICIENT_STORAGE, "The disk of the service fails")
    INTERNAL = ("internal", HTTPStatus.INTERNAL_SERVER_ERROR, "An error of the service")

    def __init__(self, name: str, status: HTTPStatus, title: str) -> None:
        self.type = f"{TYPE_PREFIX}{name}"
        self.status = status
        self.title = title


DESCRIPTIONS: Mapping[ProblemCode, str] = MappingProxyType(
    {
        ProblemCode.INVALID_REQUEST: "A parameter or a field of the body is wrong; see `errors`.",
        ProblemCode.INVALID_CHANGE: "The patch or the tree cannot be judged at all.",
        ProblemCode.UNSUPPORTED_TYPE: "Expected application/json; for a tree, application/x-tar.",
        ProblemCode.TOO_LARGE: "The body is larger than the service allows (--max-body).",
        ProblemCode.TOO_SLOW: "The body arrived too slowly. Send it again.",
        ProblemCode.UNAUTHORIZED: "Send the token of the service as `Authorization: Bearer TOKEN`.",
        ProblemCode.FOREIGN_ORIGIN: "A page of another web site made the request.",
        ProblemCode.WRONG_HOST: "The Host header names another machine.",
        ProblemCode.NOT_FOUND: "There is nothing at this path; see /openapi.json.",
        ProblemCode.METHOD_NOT_ALLOWED: "This path has other methods; see `Allow`.",
        ProblemCode.UNKNOWN_TASK: "The service was started without this task; see /v1/tasks.",
        ProblemCode.UNKNOWN_JOB: "There is no such job, or it ended too long ago (--keep-jobs).",
        ProblemCode.UNKNOWN_SESSION: "There is no such session, or the service was restarted.",
        ProblemCode.NO_RECORD: "The job has no verdict, or the folder of its run was removed.",
        ProblemCode.TASK_CHANGED: "The service has a task of this id with another digest.",
        ProblemCode.KEY_REUSED: "Another request had the same Idempotency-Key.",
        ProblemCode.SESSION_ENDED: "The session has ended, or its sandbox is lost.",
        ProblemCode.TOO_MANY_SESSIONS: "Close a session first, or raise --max-sessions.",
        ProblemCode.TOO_MANY_JOBS: "Wait until jobs have ended, or raise --max-jobs.",
        ProblemCode.INVALID_TASK: "The service cannot judge changes to this task.",
        ProblemCode.UNAVAILABLE: "Something that the task needs is not available.",
        ProblemCode.DRAINING: "The service ends what runs, then stops. Accepted jobs are not lost.",
        ProblemCode.STORAGE: "The service cannot write its files.",
        ProblemCode.INTERNAL: "A bug of the service; its log has the details.",
    }
)


class FieldError(Schema):
    """An error in one part of a request."""

    pointer: str
    """The part: `body.deadline`, `query.wait`."""
    detail: str
    """The expected value."""


class ProblemDetails(Schema):
    """Why a request was refused (RFC 9457)."""

    type: str
    """The kind of the problem: a path of the service, with a description."""
    title: str
    """The kind in words."""
    status: int
    """The status code of the answer."""
    detail: str = ""
    """The reason in this case."""
    instance: str | None = None
    """The path of the request."""
    errors: tuple[FieldError, ...] = Field(default=())
    """The wrong parts of an invalid request."""

    @classmethod
    def of(
        cls,
        code: ProblemCode,
        detail: str = "",
        *,
        instance: str | None = None,
        errors: tuple[FieldError, ...] = (),
    ) -> "ProblemDetails":
        return cls(
            type=code.type,
            title=code.title,
            status=code.status,
            detail=detail or DESCRIPTIONS[code],
            instance=instance,
            errors=errors,
        )


class ProblemError(Exception):
    """Refuses a request."""

    def __init__(
        self,
        code: ProblemCode,
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        errors: tuple[FieldError, ...] = (),
    ) -> None:
        super().__init__(detail or DESCRIPTIONS[code])
        self.code = code
        self.details = ProblemDetails.of(code, detail, errors=errors)
        self.headers = dict(headers or {})
