"""Selects the back end of a run, and says what each one promises."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox.back_ends import BACK_ENDS, BackEnd, SandboxName
from agentbench.sandbox.interface import EngineProvider, Promise, SandboxProvider

# gVisor has processes of its own, which the engine's limit must allow.
UNCERTAIN = frozenset({Promise.PIDS_LIMIT})
"""Promises that runtimes other than the default one may break."""


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
    sandbox: SandboxProvider | str, *, cache_dir: Path, back_ends: Iterable[BackEnd] = BACK_ENDS
) -> BackEndSelection:
    """Connect to the named back end, or with `auto` to the first that works on this machine.

    Args:
        sandbox: A value of `--sandbox`, or the own back end of a Python program.
        cache_dir: The folder of environments and snapshots.
        back_ends: The back ends to choose from, the preferred ones first.

    Raises:
        UnavailableError: the named back end does not work here, or with `auto`, no back end works.
        UsageError: there is no back end with this name.
    """
    if not isinstance(sandbox, str):
        return BackEndSelection(provider=sandbox, reason="handed in", warnings=())
    if sandbox == SandboxName.AUTO:
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
    if sandbox not in known:
        raise UsageError(f"unknown sandbox {sandbox!r}: use auto, {', '.join(known)}")
    return _selection(known[sandbox].connect(cache_dir), "asked for by name")


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


def check_runtime(provider: SandboxProvider, runtime: str | None) -> None:
    """Check that a back end has a runtime such as gVisor's `runsc`; None is the default one.

    Raises:
        UnavailableError: it does not have it.
        SandboxError: the engine is lost.
    """
    if runtime is None:
        return
    if not isinstance(provider, EngineProvider):
        raise UnavailableError(
            f"{provider.name} has no runtime {runtime!r}: use a container engine, --sandbox docker"
        )
    provider.check_runtime(runtime)


def promises_of(provider: SandboxProvider, runtime: str | None) -> frozenset[Promise]:
    """The promises that a back end keeps with a runtime."""
    return provider.promises - (UNCERTAIN if runtime else frozenset())


def _selection(provider: SandboxProvider, reason: str) -> BackEndSelection:
    if provider.promises:
        gaps = ", ".join(_missing(provider))
        warnings = [f"{provider.name} does not promise: {gaps}"] if gaps else []
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
