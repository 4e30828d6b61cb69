"""What `health_check` says: versions, and what is missing, by name."""

import platform
from importlib.metadata import PackageNotFoundError, version

from agentbench.distribution import install_command
from agentbench.errors import SandboxError, UnavailableError
from agentbench.extras import SYMBOLIC, is_there
from agentbench.mcp.symbolic_envelopes import HealthEnvelope
from agentbench.pytest_results.tool_calls.masking import Mask
from agentbench.symbolic.laboratory import Laboratory

_DISTRIBUTIONS = ("crosshair-tool", "hypothesis", "z3-solver")


def health(
    laboratory: Laboratory, mask: Mask, tools: tuple[str, ...], own_version: str
) -> HealthEnvelope:
    """Look at all that the tools need."""
    versions = {name: _version(name) for name in _DISTRIBUTIONS}
    missing = [name for name, found in versions.items() if found is None]
    sandbox, refusal = _sandbox(laboratory)
    if refusal:
        missing.append(f"a sandbox ({mask.text(refusal)})")
    return HealthEnvelope(
        message=_message(missing),
        version=own_version,
        python_version=platform.python_version(),
        crosshair_version=versions["crosshair-tool"],
        hypothesis_version=versions["hypothesis"],
        z3_version=versions["z3-solver"],
        sandbox=sandbox,
        missing=tuple(missing),
        tools=tools,
    )


def _message(missing: list[str]) -> str:
    if not missing:
        return "nothing is missing"
    remedy = "" if is_there(SYMBOLIC) else f"; {install_command('symbolic')}"
    return f"missing: {', '.join(missing)}{remedy}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _sandbox(laboratory: Laboratory) -> tuple[str | None, str]:
    try:
        return laboratory.provider().name, ""
    except (UnavailableError, SandboxError) as fault:
        return None, str(fault).partition("\n")[0]
