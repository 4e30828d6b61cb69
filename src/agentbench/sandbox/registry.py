"""The table of back ends.

How each one is connected, which one a run gets, and what each one is worth on this machine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox.interface import Promise, SandboxProvider

BACK_ENDS = ("docker", "bubblewrap", "process")
"""The back ends, the most trusted first."""

_Connect = Callable[[Path], SandboxProvider]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndSelection:
    """The back end of a run."""

    provider: SandboxProvider
    reason: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndProbe:
    """What `doctor` says of one back end."""

    name: str
    available: bool
    detail: str  # versions, or why it is not available and what to do
    missing: tuple[Promise, ...] = ()


def select_back_end(
    name: str, *, cache_dir: Path, connectors: Mapping[str, _Connect] | None = None
) -> BackEndSelection:
    """Connect to the back end of a name, or with `auto` to the first that works here.

    Args:
        name: `auto`, `docker`, `bubblewrap` or `process`.
        cache_dir: Where back ends keep environments and snapshots.
        connectors: How to connect to each; the real ones by default.

    Raises:
        UnavailableError: the named one, or with `auto` all of them, do not work here.
        UsageError: there is none of that name.
    """
    connect = connectors or _CONNECTORS
    if name == "auto":
        return _first_that_works(connect, cache_dir)
    if name not in connect:
        raise UsageError(f"no sandbox is called {name!r}: use auto, {', '.join(connect)}")
    provider = connect[name](cache_dir)
    return BackEndSelection(
        provider=provider, reason="asked for by name", warnings=_warnings(provider)
    )


def probe_back_ends(
    *, cache_dir: Path, connectors: Mapping[str, _Connect] | None = None
) -> tuple[BackEndProbe, ...]:
    """Try every back end."""
    connect = connectors or _CONNECTORS
    return tuple(_probe(name, connect[name], cache_dir) for name in connect)


def _first_that_works(connect: Mapping[str, _Connect], cache_dir: Path) -> BackEndSelection:
    refusals: list[str] = []
    for name in connect:
        try:
            provider = connect[name](cache_dir)
        except (UnavailableError, SandboxError) as fault:
            refusals.append(f"{name}: {_first_line(fault)}")
            continue
        reason = "; ".join([*refusals, f"{name} works"])
        return BackEndSelection(provider=provider, reason=reason, warnings=_warnings(provider))
    raise UnavailableError("no sandbox works here:\n" + "\n".join(refusals))


def _probe(name: str, connect: _Connect, cache_dir: Path) -> BackEndProbe:
    try:
        provider = connect(cache_dir)
    except (UnavailableError, SandboxError) as fault:
        return BackEndProbe(name=name, available=False, detail=str(fault))
    facts = ", ".join(f"{key} {value}" for key, value in provider.describe().items())
    return BackEndProbe(name=name, available=True, detail=facts, missing=_missing(provider))


def _warnings(provider: SandboxProvider) -> tuple[str, ...]:
    if provider.promises:
        return tuple(f"{provider.name} does not promise: {gap}" for gap in _missing(provider))
    warning = (
        f"{provider.name} is no sandbox: commands can use the network, read the files of this "
        "machine and outlive their deadline; run only what you trust"
    )
    if provider.describe().get("user") == "root":
        warning += ". They run as root, since no other user can reach this Python"
    return (warning,)


def _missing(provider: SandboxProvider) -> tuple[Promise, ...]:
    return tuple(promise for promise in Promise if promise not in provider.promises)


def _first_line(fault: Exception) -> str:
    return str(fault).partition("\n")[0]


def _docker(_cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.docker.provider import DockerProvider

    return DockerProvider.connect()  # the engine itself keeps what is cached


def _bubblewrap(cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider

    return BubblewrapProvider.connect(cache_dir=cache_dir)


def _process(cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.process.provider import ProcessProvider

    return ProcessProvider.connect(cache_dir=cache_dir)


_CONNECTORS: Mapping[str, _Connect] = {
    "docker": _docker,
    "bubblewrap": _bubblewrap,
    "process": _process,
}
