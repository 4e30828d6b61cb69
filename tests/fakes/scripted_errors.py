"""How each provider writes an error."""

from typing import Any

from agentbench.models.interface import ApiFormat, ModelErrorKind
from tests.fakes.scripted_answers import NO_TOKENS, Fail
from tests.fakes.scripted_openai import response
from tests.fakes.scripted_reply import Chunk, Reply, sse

_OPENAI = {
    ModelErrorKind.RATE_LIMIT: ("requests", "rate_limit_exceeded", "Rate limit reached"),
    ModelErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota", "You exceeded your quota"),
    ModelErrorKind.AUTH: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided"),
    ModelErrorKind.UNKNOWN_MODEL: (
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you do not have access to it.",
    ),
    ModelErrorKind.CONTEXT_LENGTH: (
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
    ),
    ModelErrorKind.MALFORMED: ("invalid_request_error", None, "Missing required parameter"),
    ModelErrorKind.OVERLOADED: ("server_error", "server_overloaded", "The engine is overloaded"),
}
_ANTHROPIC = {
    ModelErrorKind.RATE_LIMIT: ("rate_limit_error", "This request would exceed your rate limit"),
    ModelErrorKind.QUOTA: ("billing_error", "Your credit balance is too low"),
    ModelErrorKind.AUTH: ("authentication_error", "invalid x-api-key"),
    ModelErrorKind.UNKNOWN_MODEL: ("not_found_error", "model: no-such-model"),
    ModelErrorKind.CONTEXT_LENGTH: (
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    ModelErrorKind.MALFORMED: ("invalid_request_error", "messages: Field required"),
    ModelErrorKind.OVERLOADED: ("overloaded_error", "Overloaded"),
}
_GEMINI = {
    ModelErrorKind.RATE_LIMIT: ("RESOURCE_EXHAUSTED", "Resource has been exhausted"),
    ModelErrorKind.QUOTA: ("RESOURCE_EXHAUSTED", "You exceeded your current quota, see billing"),
    ModelErrorKind.AUTH: ("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    ModelErrorKind.UNKNOWN_MODEL: ("NOT_FOUND", "models/no-such-model is not found"),
    ModelErrorKind.CONTEXT_LENGTH: (
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    ),
    ModelErrorKind.MALFORMED: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    ModelErrorKind.OVERLOADED: ("UNAVAILABLE", "The model is overloaded. Try again later."),
}


def error_body(wire: ApiFormat | None, fail: Fail) -> dict[str, Any]:
    """The error as the provider of a wire writes it."""
    kind = fail.shown_kind
    if wire is ApiFormat.ANTHROPIC_MESSAGES:
        name, message = _ANTHROPIC.get(kind, ("api_error", "Internal server error"))
        error = {"type": name, "message": fail.message or message}
        return {"type": "error", "error": error, "request_id": "req_1"}
    if wire is ApiFormat.GEMINI_GENERATE:
        name, message = _GEMINI.get(kind, ("INTERNAL", "An internal error has occurred"))
        error = {"code": fail.status, "message": fail.message or message, "status": name}
        if kind is ModelErrorKind.AUTH:
            info = "type.googleapis.com/google.rpc.ErrorInfo"
            error["details"] = [{"@type": info, "reason": "API_KEY_INVALID"}]
        return {"error": error}
    family, code, message = _OPENAI.get(kind, ("server_error", None, "The server had an error"))
    return {
        "error": {"message": fail.message or message, "type": family, "param": None, "code": code}
    }


def error_event(wire: ApiFormat, fail: Fail) -> Chunk:
    """The error as it comes in the middle of a stream."""
    body = error_body(wire, fail)
    if wire is ApiFormat.ANTHROPIC_MESSAGES:
        return Chunk(sse(body, "error"))
    if wire is ApiFormat.OPENAI_RESPONSES:
        reply = Reply("model", "", (), NO_TOKENS)
        error = {"code": body["error"]["code"] or "server_error"}
        failed = {**response(reply, [], "failed"), "error": {**error, **body["error"]}}
        failed["error"]["code"] = error["code"]
        kind = "response.failed"
        return Chunk(sse({"type": kind, "sequence_number": 99, "response": failed}, kind))
    return Chunk(sse(body))
