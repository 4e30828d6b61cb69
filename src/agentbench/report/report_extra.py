"""What the extra `report` brings: asked for beforehand, so that its lack is one clear line."""

from importlib.util import find_spec

from agentbench.errors import UsageError

STATISTICS = ("scipy", "statsmodels")
JUNIT = ("junitparser",)
PAGE = ("jinja2", "matplotlib", *STATISTICS)


def is_there(libraries: tuple[str, ...]) -> bool:
    """Whether all of them are installed."""
    return all(find_spec(library) is not None for library in libraries)


def require(what: str, libraries: tuple[str, ...]) -> None:
    """Refuse what cannot work without the extra.

    Args:
        what: That which needs it, as the message names it.
        libraries: Those that it needs.

    Raises:
        UsageError: one of them is not installed; says what to install.
    """
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        said = f"{what} needs {', '.join(missing)}, found none"
        raise UsageError(f"{said}: pip install 'agentbench[report]'")
