"""Sends one small request before a run, to detect a wrong key or model name."""

import asyncio
import json

from agentbench.core.display_text import Redactor
from agentbench.core.schema import JsonObject
from agentbench.errors import UnavailableError, UsageError
from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.providers import ProviderAccess
from agentbench.models.gateway.upstream import (
    AnswerLimits,
    LiveUpstream,
    ProviderRequest,
    UpstreamError,
    provider_http_client,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure
from agentbench.models.provider_errors import failure_of_response

PROBE_SECONDS = 4.5
"""A model that does not answer for so long counts as unavailable."""

_SKIP_HINT = "or skip this check with --no-probe"
_USER = {"role": "user", "content": "Say ok."}
_MIN_OUTPUT_TOKENS = 16  # tokens; OpenAI's minimum


async def probe_model(
    endpoints: ProviderAccess, model: str, *, seconds: float = PROBE_SECONDS
) -> None:
    """Send a request for a few tokens in the model's main API format."""
    bounds = AnswerLimits(connect_s=seconds, idle_s=seconds, total_s=seconds)
    async with provider_http_client(bounds) as client:
        upstream, newer = LiveUpstream(endpoints, client), ApiFormat.OPENAI_RESPONSES
        failure = await _send_probe(upstream, endpoints.main, model, bounds)
        if failure and "v1/responses" in failure.message and newer in endpoints.by_format:
            # Some of OpenAI's models support only this format.
            failure = await _send_probe(upstream, newer, model, bounds)
    if failure is not None:
        said = Redactor(endpoints.keys).text(failure.message) or f"HTTP status {failure.status}"
        _raise_if_unusable(failure, said, endpoints, model)


async def _send_probe(
    upstream: LiveUpstream, api_format: ApiFormat, model: str, bounds: AnswerLimits
) -> ModelFailure | None:
    """The error in an answer; for a success its head is enough."""
    request = _probe_request(api_format, model)
    action = "streamGenerateContent" if api_format is ApiFormat.GEMINI_GENERATE else ""
    call = ProviderRequest(
        route=ApiRoute(api_format=api_format, model=model, action=action),
        model=model,
        request=request,
        body=json.dumps(request).encode(),
        headers=[("content-type", "application/json"), ("anthropic-version", "2023-06-01")],
        query="alt=sse" if action else "",
    )
    try:
        async with asyncio.timeout(bounds.total_s), upstream.send(call) as answer:
            if answer.status < 300:
                return None
            body = b"".join([chunk async for chunk in answer.chunks])
            return failure_of_response(answer.status, body)
    except UpstreamError as fault:
        return fault.failure
    except TimeoutError:
        message = f"no answer within {bounds.total_s:g} s"
        return ModelFailure(kind=ModelErrorKind.TIMEOUT, message=message)


def _probe_request(api_format: ApiFormat, model: str) -> JsonObject:
    match api_format:
        case ApiFormat.OPENAI_CHAT:
            limit = {"max_tokens": _MIN_OUTPUT_TOKENS}
            return {"model": model, "messages": [_USER], "stream": True, **limit}
        case ApiFormat.OPENAI_RESPONSES:
            limit = {"max_output_tokens": _MIN_OUTPUT_TOKENS}
            return {"model": model, "input": "Say ok.", "stream": True, "store": False, **limit}
        case ApiFormat.ANTHROPIC_MESSAGES:
            return {"model": model, "messages": [_USER], "stream": True, "max_tokens": 1}
        case ApiFormat.GEMINI_GENERATE:
            asked = {"role": "user", "parts": [{"text": "Say ok."}]}
            return {"contents": [asked], "generationConfig": {"maxOutputTokens": 1}}


def _raise_if_unusable(
    failure: ModelFailure, said: str, endpoints: ProviderAccess, model: str
) -> None:
    """Raise an error that stops a run; a busy server, or one that rejects the request, is fine."""
    url = endpoints.by_format[endpoints.main].url
    variable = endpoints.key_variable
    match failure.kind:
        case ModelErrorKind.AUTH:
            raise UsageError(f"{url} does not take the key in {variable}: {said}; set {variable}")
        case ModelErrorKind.QUOTA:
            raise UsageError(f"the account of the key in {variable} has no credit left: {said}")
        case ModelErrorKind.UNKNOWN_MODEL:
            raise UsageError(
                f"{url} knows no model {model!r}: {said}; check --model and --base-url"
            )
        case ModelErrorKind.CONNECTION | ModelErrorKind.TIMEOUT | ModelErrorKind.SERVER_ERROR:
            raise UnavailableError(f"{url}: {said}; check --base-url and the network, {_SKIP_HINT}")
        case ModelErrorKind.CUT_STREAM:
            raise UnavailableError(f"{url}: {said}; try again, {_SKIP_HINT}")
        case _:
            return
