"""Closed sets of values that options and files share, for modules that must start quickly.

They are the levels of control runs, the executors, and the Python versions of base images with
their requirements.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from agentbench.errors import UsageError

# Pure wheels, pinned, since the tag of a base image is a hash of its recipe.
_FOR_310_AND_NEWER = (
    "pytest==9.2.0", "iniconfig==2.3.1", "packaging==26.3", "pluggy==1.7.0", "pygments==2.21.0",
)  # fmt: skip
_BEFORE_311 = ("exceptiongroup==1.3.2", "tomli==2.5.0")  # Python 3.11 includes both
_FOR_38 = ("pytest==8.3.5", "iniconfig==2.1.0", "packaging==26.2", "pluggy==1.5.0")
_FOR_39 = (
    "pytest==8.4.2", "iniconfig==2.1.0", "packaging==26.3", "pluggy==1.6.0", "pygments==2.21.0",
)  # fmt: skip
STACKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "3.8": (*_FOR_38, *_BEFORE_311, "typing-extensions==4.13.2"),
        "3.9": (*_FOR_39, *_BEFORE_311, "typing-extensions==4.16.0"),
        "3.10": (*_FOR_310_AND_NEWER, *_BEFORE_311, "typing-extensions==4.16.0"),
        **dict.fromkeys(("3.11", "3.12", "3.13", "3.14"), _FOR_310_AND_NEWER),
    }
)
"""Requirements by Python version, oldest version first."""
DEFAULT_PYTHON = "3.11"
"""The Python of base images unless another one is requested."""


class ControlLevel(StrEnum):
    """How many control runs an attempt is judged with."""

    OFF = "off"  # none
    SAMPLE = "sample"  # one, in which some half of the tests must fail
    FULL = "full"  # two, and each test must fail in exactly one of them


class ErrorMode(StrEnum):
    """How the MCP server sends errors to the client."""

    STRUCTURED = "structured"  # as a result with isError, visible to the model
    JSONRPC = "jsonrpc"  # as a JSON-RPC error, for clients built on ADR-007


class ExecutorName(StrEnum):
    """What `--executor` takes."""

    LOCAL = "local"
    RAY = "ray"


def stack_for(python: str) -> tuple[str, ...]:
    """The requirements that a base image with this Python installs.

    Raises:
        UsageError: there is no base image with this version.
    """
    try:
        return STACKS[python]
    except KeyError:
        supported = ", ".join(STACKS)
        raise UsageError(f"no base image has Python {python!r}: use one of {supported}") from None
