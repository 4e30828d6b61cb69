"""How errors are sent: an option's values, in a module that starts quickly."""

from enum import StrEnum


class ErrorMode(StrEnum):
    """How the MCP server sends errors to the client."""

    STRUCTURED = "structured"  # as a result with isError, visible to the model
    JSONRPC = "jsonrpc"  # as a JSON-RPC error, for clients built on ADR-007
