"""Recognises that a command failed because the network did, by what the tools print.

git (libcurl, OpenSSH), pip (urllib3), uv, npm and apt name these causes in fixed phrases; exit
codes do not tell them from any other failure.
"""

import re

_PHRASES = re.compile(
    "|".join(
        (
            r"could not resolve host",
            r"temporary failure (?:in name resolution|resolving)",
            r"name or service not known",
            r"failed to establish a new connection",
            r"connection (?:timed out|refused|reset by peer|broken)",
            r"connect(?:ion)? to .{1,80} timed out",
            r"network is unreachable",
            r"no route to host",
            r"read timed out",
            r"remote end closed connection",
            r"the remote end hung up unexpectedly",
            r"operation timed out after",
            r"tls connect error",
            r"couldn'?t connect to server",
            r"error sending request for url",
            r"\b(?:ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b",
            r"(?:error|status|code|HTTP):? (?:429|502|503|504)\b",
        )
    ),
    re.IGNORECASE,
)
_TAIL = 64 * 1024  # characters; what stopped a command is among the last things it said


def network_failure(text: str) -> str | None:
    """The phrase at the end of a command's output that says the network failed; `None` without."""
    found = _PHRASES.search(text[-_TAIL:])
    return found.group(0) if found else None
