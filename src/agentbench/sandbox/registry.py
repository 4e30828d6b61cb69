"""The table of back ends: how to connect to each, and the selection of one for a run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox.interface import Promise, SandboxProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEnd:
    """A way to run sandboxes, with the facts that other parts of agentbench need."""

    name: str  # also the name of its folder in the cache
    connect: Callable[[Path], SandboxProvider]  # takes the cache folder
    isolates: bool = True  # False: only agents that the user trusts may run
    keeps_files: bool = True  # snapshots and live sandboxes are folders in the cache folder
    start_ms: int  # the approximate start time of an empty sandbox


# Names of classes, because a module is imported only if its back end is connected.
BACK_ENDS = (
    BackEnd(
        name="docker",
        connect=lambda _cache_dir: resolve_name(
            "agentbench.sandbox.docker.provider:DockerProvider"
        ).connect(),
        keeps_files=False,  # the engine stores them
        start_ms=200,
    ),
    BackEnd(
        name="bubblewrap",
        connect=lambda cache_dir: resolve_name(
            "agentbench.sandbox.bubblewrap.provider:BubblewrapProvider"
        ).connect(cache_dir=cache_dir),
        start_ms=12,
    ),
    BackEnd(
        name="process",
        connect=lambda cache_dir: resolve_name(
            "agentbench.sandbox.process.provider:ProcessProvider"
        ).connect(cache_dir=cache_dir),
        isolates=False,
        start_ms=5,
    ),
)
"""The back ends, the most trusted first."""
BACK_ENDS_BY_NAME = {back_end.name: back_end for back_end in BACK_ENDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndSelection:
    """The back end of a run."""

    provider: SandboxProvider
    reason: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndProbe:
    """The result of `doctor` for one back end."""

    name: str
    available: bool
    detail: str  # versions, or why it is unavailable and what to do
    missing: tuple[Promise, ...] = ()


def select_back_end(
    name: str, *, cache_dir: Path, back_ends: Iterable[BackEnd] = BACK_ENDS
) -> BackEndSelection:
    """Connect to the named back end, or with `auto` to the first that works on this machine.

    Args:
        name: `auto`, `docker`, `bubblewrap` or `process`.
        cache_dir: The folder of environments and snapshots.
        back_ends: The back ends to choose from, the preferred ones first.

    Raises:
        UnavailableError: the named back end does not work here, or with `auto`, no back end works.
        UsageError: there is no back end with this name.
    """
    if name == "auto":
        refusals: list[str] = []
        for back_end in back_ends:
            try:
                provider = back_end.connect(cache_dir)
            except (UnavailableError, SandboxError) as fault:
                first_line, *_ = str(fault).splitlines() or [""]
                refusals.append(f"{back_end.name}: {first_line}")
                continue
            return _selection(provider, "; ".join([*refusals, f"{back_end.name} works"]))
        raise UnavailableError("no sandbox works here:\n" + "\n".join(refusals))
    known = {back_end.name: back_end for back_end in back_ends}
    if name not in known:
        raise UsageError(f"unknown sandbox {name!r}: use auto, {', '.join(known)}")
    return _selection(known[name].connect(cache_dir), "asked for by name")


def probe_back_ends(
    *, cache_dir: Path, back_ends: Iterable[BackEnd] = BACK_ENDS
) -> tuple[BackEndProbe, ...]:
    """Connect to every back end, and describe the result."""
    probes: list[BackEndProbe] = []
    for back_end in back_ends:
        try:
            provider = back_end.connect(cache_dir)
        except (UnavailableError, SandboxError) as fault:
            probes.append(BackEndProbe(name=back_end.name, available=False, detail=str(fault)))
            continue
        facts = ", ".join(f"{key} {value}" for key, value in provider.describe().items())
        missing = _missing(provider)
        probe = BackEndProbe(name=back_end.name, available=True, detail=facts, missing=missing)
        probes.append(probe)
    return tuple(probes)


def _selection(provider: SandboxProvider, reason: str) -> BackEndSelection:
    if provider.promises:
        warnings = [f"{provider.name} does not promise: {gap}" for gap in _missing(provider)]
    else:
        warning = (
            f"{provider.name} is not a sandbox: commands can use the network, read the files of "
            "this machine and outlive their deadline; run only what you trust"
        )
        if provider.describe().get("user") == "root":
            warning += ". They run as root, since no other user can reach this Python"
        warnings = [warning]
    return BackEndSelection(provider=provider, reason=reason, warnings=tuple(warnings))


def _missing(provider: SandboxProvider) -> tuple[Promise, ...]:
    return tuple(promise for promise in Promise if promise not in provider.promises)
