"""Why a document of a run is not taken: damaged, invalid, or of a version to come."""

import json

from pydantic import ValidationError

from agentbench.errors import InputError
from agentbench.runs.record import SCHEMA_VERSION
from agentbench.seals.document import DAMAGED


def refuse_newer(where: str, content: bytes) -> None:
    """Say so where a document is of a version to come.

    Raises:
        InputError: it is.
    """
    try:
        version = json.loads(content).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(
            f"{where}: schema_version {version} is of a newer agentbench, this one reads "
            f"up to {SCHEMA_VERSION}; upgrade agentbench"
        )


def why_invalid(error: ValidationError) -> str:
    """The first thing that is wrong with a document, on one line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def is_damage(error: ValidationError) -> bool:
    """Whether a document's digest says that it is not what was written."""
    return error.errors()[0]["type"] == DAMAGED
