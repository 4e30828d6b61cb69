"""Where code that a client hands in is run: a sandbox, whatever the project itself is run in."""

from agentbench.errors import SandboxError, UnavailableError
from agentbench.runs.places import default_cache_dir, usable_cache_dir
from agentbench.sandbox.choose import choose_provider
from agentbench.sandbox.interface import SandboxProvider
from agentbench.symbolic.laboratory import Laboratory

_IN_ORDER = ("bubblewrap", "docker")  # a start costs 12 ms, not 200; never plain processes


def laboratory_for(sandbox: str) -> Laboratory:
    """A laboratory in the back end of a name, or with `auto` in the first real sandbox here."""
    return Laboratory(lambda: _connected(sandbox), default_cache_dir())


def _connected(sandbox: str) -> SandboxProvider:
    cache_dir = usable_cache_dir()
    if sandbox != "auto":
        return choose_provider(sandbox, cache_dir=cache_dir).provider
    refusals: list[str] = []
    for name in _IN_ORDER:
        try:
            return choose_provider(name, cache_dir=cache_dir).provider
        except (UnavailableError, SandboxError) as fault:
            refusals.append(f"{name}: {str(fault).partition(chr(10))[0]}")
    raise UnavailableError(f"no sandbox works here: {'; '.join(refusals)}")
