"""The list of models, as each provider's clients ask for it: there is one."""

import re

from agentbench.pytest_results.model import JsonObject

_OPENAI = re.compile(r"/(?:(?:v1|openai)/)*models(?:/(?P<name>.+))?/?")
_GOOGLE = re.compile(r"/v1(?:beta|alpha)/models(?:/(?P<name>.+))?/?")


def models_page(path: str, model: str) -> JsonObject | None:
    """What stands at a path; None if that is no list of models, or a model that is not the one."""
    for pattern, one, listed in (
        (_OPENAI, _openai, _openai_list),
        (_GOOGLE, _google, _google_list),
    ):
        if found := pattern.fullmatch(path):
            name = found.group("name")
            if name is None:
                return listed(model)
            return one(model) if name == model else None
    return None


def _openai(model: str) -> JsonObject:
    """One entry that Anthropic's clients understand too."""
    return {
        "id": model,
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "display_name": model,
        "owned_by": "agentbench",
    }


def _openai_list(model: str) -> JsonObject:
    pages = {"has_more": False, "first_id": model, "last_id": model}
    return {"object": "list", "data": [_openai(model)], **pages}


def _google(model: str) -> JsonObject:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {
        "name": f"models/{model}",
        "displayName": model,
        "supportedGenerationMethods": methods,
    }


def _google_list(model: str) -> JsonObject:
    return {"models": [_google(model)]}
