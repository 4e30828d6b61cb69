"""Detects requests that make the provider use the network, where an agent could read the fix.

Providers run tools themselves, have models that search, and fetch images and documents from
addresses. Tools that a client runs itself are allowed; any other or unknown kind is not.
"""

import re
from collections.abc import Iterator

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
from agentbench.models.interface import ApiFormat

_MAX_QUOTED = 80  # characters
_SEARCHING_MODEL = re.compile(r":online$|search|\bsonar\b|\bcompound\b|deep-?research")

# Kinds of tools that clients run themselves, that draw, or that search among other tools, by the
# providers' references (read in November 2026). Anthropic's end in a date.
_CLIENT_SIDE_TOOLS = re.compile(
    r"function|custom|local_shell|apply_patch|computer|computer_use_preview|namespace"
    r"|image_generation|tool_search|tool_search_tool_(regex|bm25)"
    r"|(bash|text_editor|computer|memory|tool_search_tool_(regex|bm25))_\d{8}"
)
# All names below are lower case and without `_`: see `_fields`.
_GEMINI_CLIENT_SIDE = frozenset({"functiondeclarations", "computeruse"})
# Fields that enable search or remote tools: of OpenAI, OpenRouter, xAI, Anthropic, Groq,
# Azure, DashScope and Mistral.
_SEARCH_FIELDS = frozenset(
    {"websearchoptions", "plugins", "searchparameters", "mcpservers", "compoundcustom"}
    | {"searchsettings", "datasources", "enablesearch", "websearch", "connectors"}
)
_CONTENT_FIELDS = frozenset(
    {"messages", "input", "contents", "system", "systeminstruction", "instructions"}
)
_ADDRESSES = frozenset({"url", "imageurl", "videourl", "audiourl", "fileurl", "fileuri"})
_DATA = frozenset({"data", "filedata"})  # some servers accept addresses in these
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
# The exchange between a model and its tools, which may have any content.
_FREE_FORM_FIELDS = frozenset({"input", "args", "arguments", "response", "toolcalls"})


def network_access_in(
    api_format: ApiFormat, model: str, request: JsonObject, *, run_model: str
) -> str | None:
    """The first network access in a request; the run's own model is always allowed.

    Args:
        api_format: The API format of the request.
        model: The requested model.
        request: Its body.
        run_model: The run's own model, which the user chose and which is always allowed.
    """
    if model != run_model and _SEARCHING_MODEL.search(model.lower()):
        return f"the model {text(model, _MAX_QUOTED)!r}, which searches by itself"
    for carrier in _tool_holders(request):
        for name, value in _fields(carrier):
            if name in _SEARCH_FIELDS and value:
                return f"the field {name!r}, which has the provider search or call tools"
            for tool in objects(value) if name == "tools" else ():
                for kind in _provider_side_tools(api_format, tool):
                    return f"the tool {text(kind, _MAX_QUOTED)!r}, which the provider runs"
    for address in _addresses(request):
        return f"the address {text(address, _MAX_QUOTED)!r}, which the provider fetches"
    return None


def _tool_holders(request: JsonObject) -> Iterator[JsonObject]:
    """The objects that can name tools: the request, its Google extensions, its messages."""
    yield request
    for name, value in _fields(request):
        if name == "extrabody" and isinstance(value, dict):
            yield value
            yield from objects(list(value.values()))
        elif name == "input":
            yield from objects(value)


def _provider_side_tools(api_format: ApiFormat, tool: JsonObject) -> Iterator[str]:
    """The kinds of a tool and of nested tools that are not known as run by the client."""
    waiting = [tool]
    while waiting:
        tool = waiting.pop()
        for name, value in _fields(tool):
            if api_format is ApiFormat.GEMINI_GENERATE:
                if name not in _GEMINI_CLIENT_SIDE:
                    yield name
            elif name == "tools":
                waiting += objects(value)
            elif name == "type" and not _is_client_side(value, tool):
                yield str(value)


def _is_client_side(kind: object, tool: JsonObject) -> bool:
    if kind == "shell":
        place = tool.get("environment")
        return isinstance(place, dict) and place.get("type") == "local"
    return isinstance(kind, str) and _CLIENT_SIDE_TOOLS.fullmatch(kind) is not None


def _addresses(request: JsonObject) -> Iterator[str]:
    """The addresses of content that the provider would fetch."""
    waiting = [value for name, value in _fields(request) if name in _CONTENT_FIELDS]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        for name, value in _fields(part) if isinstance(part, dict) else ():
            if not isinstance(value, str):
                waiting += [value] if name not in _FREE_FORM_FIELDS else []
            elif _is_address(name, value):
                yield value


def _is_address(name: str, value: str) -> bool:
    if name in _ADDRESSES:
        return bool(value) and not value.lower().startswith("data:")
    return name in _DATA and _ADDRESS.match(value) is not None


def _fields(said: JsonObject) -> Iterator[tuple[str, object]]:
    """Fields by name as the most lenient servers read them: any case, with or without `_`."""
    for name, value in said.items():
        yield name.replace("_", "").lower(), value
