"""What makes two requests the same one, when a run is replayed."""

import hashlib
import json
import re
from dataclasses import dataclass

from agentbench.agents.gateway.upstream import Call
from agentbench.pytest_results.model import JsonObject

# What differs from run to run and changes nothing in the answer.
_OF_A_SESSION = frozenset(
    {"metadata", "user", "client_metadata", "prompt_cache_key", "safety_identifier", "session_id"}
)
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUIDs
    r"|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?[\d.,]*(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?"
    r"|\b\d+(?:\.\d+)?\s?(?:s|ms|seconds)\b"
    r"|\b0x[0-9a-f]+"
    r"|\b(?:call|toolu|msg|fc|rs|resp|chatcmpl|req)[_-][A-Za-z0-9_-]+"
    r"|\b[0-9a-f]{12,64}\b"
    r"|/tmp/[^\s\"'\\)]+"
    r"|127\.0\.0\.1:\d+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDigest:
    """Two digests: of what is said, and of its outline, for when the words differ after all."""

    words: str
    outline: str


def digest_of(call: Call) -> RequestDigest:
    """The digests of a request, without what differs from run to run."""
    kept = {key: value for key, value in call.request.items() if key not in _OF_A_SESSION}
    written = _VOLATILE.sub("~", json.dumps(kept, sort_keys=True, ensure_ascii=False))
    route = call.route
    where = f"{route.wire.value} {route.counts_only} {route.action} {call.model} "
    return RequestDigest(words=_hash(where + written), outline=_hash(where + _outline(kept)))


def _outline(request: JsonObject) -> str:
    """How long its lists are, and all that is no text."""
    shape = {
        key: len(value) if isinstance(value, list) else value
        for key, value in request.items()
        if not isinstance(value, str | dict)
    }
    return json.dumps(shape, sort_keys=True)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
