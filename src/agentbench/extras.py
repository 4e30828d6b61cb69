"""What optional installs bring: asked for beforehand, so that its lack is one clear line."""

from importlib.util import find_spec
from typing import NamedTuple

from agentbench.distribution import install_command
from agentbench.errors import UsageError


class Extra(NamedTuple):
    """Libraries that some feature needs, and the extra of ours that brings them."""

    name: str
    libraries: tuple[str, ...]


GATEWAY = Extra("llm", ("httpx2", "uvicorn"))
CLIENTS = Extra("llm", ("openai", "anthropic", "httpx2"))
MCP = Extra("mcp", ("mcp",))
RAY = Extra("ray", ("ray",))
RELEASES = Extra("releases", ("pypi_simple", "requests"))
STATISTICS = Extra("report", ("scipy", "statsmodels"))
YAML = Extra("terminal-bench", ("yaml",))
JUNIT = Extra("report", ("junitparser",))
HTML = Extra("report", ("jinja2", "matplotlib", *STATISTICS.libraries))
PARQUET = Extra("swebench", ("pyarrow",))
SYMBOLIC = Extra("symbolic", ("crosshair", "hypothesis", "z3"))
VIEW = Extra("view", ("starlette", "uvicorn", "jinja2", "pygments", *STATISTICS.libraries))


def is_there(extra: Extra) -> bool:
    """Whether all of its libraries are installed."""
    return not _missing(extra)


def require(what: str, extra: Extra) -> None:
    """Refuse what cannot work without an extra.

    Args:
        what: That which needs it, as the message names it.
        extra: What it needs.

    Raises:
        UsageError: a library is not installed; says what to install.
    """
    missing = _missing(extra)
    if missing:
        said = f"{what} needs {', '.join(missing)}, found none"
        raise UsageError(f"{said}: {install_command(extra.name)}")


def _missing(extra: Extra) -> list[str]:
    return [library for library in extra.libraries if find_spec(library) is None]
