"""Errors as OpenAI writes them, on both of its wires."""

from agentbench.agents.model_door import ModelErrorKind
from agentbench.pytest_results.model import JsonObject

_TYPES_AND_CODES = {
    ModelErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    ModelErrorKind.AUTH: ("invalid_request_error", "invalid_api_key"),
    ModelErrorKind.UNKNOWN_MODEL: ("invalid_request_error", "model_not_found"),
    ModelErrorKind.MALFORMED: ("invalid_request_error", None),
    ModelErrorKind.CONTEXT_LENGTH: ("invalid_request_error", "context_length_exceeded"),
}


def openai_error(kind: ModelErrorKind, message: str) -> JsonObject:
    """The body of an error."""
    family, code = _TYPES_AND_CODES.get(kind, ("server_error", kind.value))
    return {"error": {"message": message, "type": family, "param": None, "code": code}}
