"""The optional libraries of agentbench, and the command that installs them.

The command names the folder, file or repository that agentbench itself was installed from.
"""

import json
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from agentbench.errors import UsageError

if TYPE_CHECKING:
    from packaging.direct_url import DirectUrl

DISTRIBUTION = "agentbench-verdict"
"""Its name on package indexes. There, `agentbench` is another project."""

_REPOSITORY = Path(__file__).parents[3]


def install_command(*extras: str) -> str:
    """The shell command that installs extras of the installed distribution."""
    found = shutil.which("pip")
    is_ours = found is not None and Path(found).parent == Path(sys.executable).parent
    pip = "pip" if is_ours else f"{shlex.quote(sys.executable)} -m pip"
    names = f"[{','.join(extras)}]" if extras else ""
    return f"{pip} install {_requirement(names, _install_origin())}"


def _requirement(extras: str, origin: "DirectUrl | None") -> str:
    # The package index is named only if the distribution came from there: as long as an index does
    # not have our name, anyone could take it.
    if origin is None:
        return _shell_quoted(f"{DISTRIBUTION}{extras}")
    if origin.vcs_info is not None:
        url = f"{origin.vcs_info.vcs}+{origin.url}@{origin.vcs_info.commit_id}"
        folder = f"#subdirectory={origin.subdirectory}" if origin.subdirectory else ""
        return _shell_quoted(f"{DISTRIBUTION}{extras} @ {url}{folder}")
    parts = urlsplit(origin.url)
    if parts.scheme != "file":
        return _shell_quoted(f"{DISTRIBUTION}{extras} @ {origin.url}")
    editable = "-e " if origin.dir_info is not None and origin.dir_info.editable else ""
    return f"{editable}{_shell_quoted(unquote(parts.path) + extras)}"


def _install_origin() -> "DirectUrl | None":
    # As PEP 610 records it; None: from a package index.
    from packaging.direct_url import DirectUrl, DirectUrlValidationError, DirInfo

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # the package was put on the path without an installation
        return DirectUrl(url=_REPOSITORY.as_uri(), dir_info=DirInfo(editable=True))
    try:
        return DirectUrl.from_dict(json.loads(text)) if text else None
    except (ValueError, DirectUrlValidationError):
        return None


def _shell_quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else shlex.quote(text)


class Extra(NamedTuple):
    """Libraries that a feature needs, and the extra that installs them."""

    name: str
    libraries: tuple[str, ...]


GATEWAY = Extra("llm", ("httpx2", "uvicorn"))
CLIENTS = Extra("llm", ("openai", "anthropic", "httpx2"))
MCP = Extra("mcp", ("mcp",))
RAY = Extra("ray", ("ray",))
RELEASES = Extra("releases", ("pypi_simple", "requests"))
STATISTICS = Extra("report", ("scipy", "statsmodels"))
JUNIT = Extra("report", ("junitparser",))
HTML = Extra("report", ("jinja2", *STATISTICS.libraries))
PARQUET = Extra("swebench", ("pyarrow",))
HUB = Extra("swebench", ("huggingface_hub", *PARQUET.libraries))
SERVE = Extra("serve", ("fastapi", "uvicorn", "prometheus_client"))
SERVE_CLIENT = Extra("client", ("httpx2",))
SYMBOLIC = Extra("symbolic", ("crosshair", "hypothesis", "z3"))
VIEW = Extra("view", ("starlette", "uvicorn", "jinja2", "pygments", *STATISTICS.libraries))


def is_installed(extra: Extra) -> bool:
    """Whether all libraries of an extra are installed."""
    return not _missing(extra)


def require(what: str, extra: Extra) -> None:
    """Check that an extra is installed.

    Args:
        what: The feature that needs it, as the message names it.
        extra: The extra.

    Raises:
        UsageError: a library is missing; the message gives the command that installs it.
    """
    missing = _missing(extra)
    if missing:
        message = f"{what} needs {', '.join(missing)}, found none"
        raise UsageError(f"{message}: {install_command(extra.name)}")


def _missing(extra: Extra) -> list[str]:
    return [library for library in extra.libraries if find_spec(library) is None]
