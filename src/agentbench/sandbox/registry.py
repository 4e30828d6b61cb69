"""The table of back ends: how to connect to each, and which one a run gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox.interface import Promise, SandboxProvider

_Connect = Callable[[Path], SandboxProvider]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndSelection:
    """The back end of a run."""

    provider: SandboxProvider
    reason: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndProbe:
    """The line of `doctor` about one back end."""

    name: str
    available: bool
    detail: str  # versions, or why it is unavailable and what to do
    missing: tuple[Promise, ...] = ()


def select_back_end(
    name: str, *, cache_dir: Path, connectors: Mapping[str, _Connect] | None = None
) -> BackEndSelection:
    """Connect to the named back end, or with `auto` to the first that works on this machine.

    Args:
        name: `auto`, `docker`, `bubblewrap` or `process`.
        cache_dir: The folder of environments and snapshots.
        connectors: How to connect to each; the real ones by default.

    Raises:
        UnavailableError: the named one does not work here, or with `auto` none does.
        UsageError: there is no back end with this name.
    """
    connect = connectors or _CONNECTORS
    if name == "auto":
        return _first_that_works(connect, cache_dir)
    if name not in connect:
        raise UsageError(f"no sandbox is called {name!r}: use auto, {', '.join(connect)}")
    return _selection(connect[name](cache_dir), "asked for by name")


def probe_back_ends(
    *, cache_dir: Path, connectors: Mapping[str, _Connect] | None = None
) -> tuple[BackEndProbe, ...]:
    """Connect to every back end, and describe the result."""
    probes: list[BackEndProbe] = []
    for name, connect in (connectors or _CONNECTORS).items():
        try:
            provider = connect(cache_dir)
        except (UnavailableError, SandboxError) as fault:
            probes.append(BackEndProbe(name=name, available=False, detail=str(fault)))
            continue
        facts = ", ".join(f"{key} {value}" for key, value in provider.describe().items())
        missing = _missing(provider)
        probes.append(BackEndProbe(name=name, available=True, detail=facts, missing=missing))
    return tuple(probes)


def _first_that_works(connect: Mapping[str, _Connect], cache_dir: Path) -> BackEndSelection:
    refusals: list[str] = []
    for name in connect:
        try:
            provider = connect[name](cache_dir)
        except (UnavailableError, SandboxError) as fault:
            first_line, *_ = str(fault).splitlines() or [""]
            refusals.append(f"{name}: {first_line}")
            continue
        return _selection(provider, "; ".join([*refusals, f"{name} works"]))
    raise UnavailableError("no sandbox works here:\n" + "\n".join(refusals))


def _selection(provider: SandboxProvider, reason: str) -> BackEndSelection:
    if provider.promises:
        warnings = [f"{provider.name} does not promise: {gap}" for gap in _missing(provider)]
    else:
        warning = (
            f"{provider.name} is no sandbox: commands can use the network, read the files of this "
            "machine and outlive their deadline; run only what you trust"
        )
        if provider.describe().get("user") == "root":
            warning += ". They run as root, since no other user can reach this Python"
        warnings = [warning]
    return BackEndSelection(provider=provider, reason=reason, warnings=tuple(warnings))


def _missing(provider: SandboxProvider) -> tuple[Promise, ...]:
    return tuple(promise for promise in Promise if promise not in provider.promises)


def _docker(_cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.docker.provider import DockerProvider

    return DockerProvider.connect()  # the engine itself stores snapshots


def _bubblewrap(cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider

    return BubblewrapProvider.connect(cache_dir=cache_dir)


def _process(cache_dir: Path) -> SandboxProvider:
    from agentbench.sandbox.process.provider import ProcessProvider

    return ProcessProvider.connect(cache_dir=cache_dir)


_CONNECTORS = {"docker": _docker, "bubblewrap": _bubblewrap, "process": _process}
BACK_ENDS = tuple(_CONNECTORS)
"""The back ends, the most trusted first."""
