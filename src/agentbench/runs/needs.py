"""What every attempt of a run needs: the sandbox's engine, room on disks, the model's provider."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.runs.outage import Need
from agentbench.sandbox.interface import SandboxProvider

_MIB = 1 << 20
_RECORDS = 16 * _MIB
"""Bytes that must be free where records go: more than the logs of an attempt as a rule take."""
_SANDBOXES = 256 * _MIB
"""Bytes that must be free where sandboxes are: some workspaces of ordinary size."""
_SHARE = 10  # of a small disk a tenth must be free, not more
_ENGINE_PATIENCE = timedelta(minutes=15)  # for an upgrade, a reboot
_MODEL_PATIENCE = timedelta(minutes=15)
_DISK_PATIENCE = timedelta(minutes=1)  # it seldom becomes free by itself


@runtime_checkable
class Probed(Protocol):
    """A gateway that can ask whether its model answers."""

    def probe(self) -> None:
        """Ask the model for a token.

        Raises:
            UsageError: the key or the name is refused.
            UnavailableError: no answer came.
        """


def needs_of(
    run: Path,
    cache: Path,
    provider: SandboxProvider,
    gateway: object | None,
    patience: timedelta | None,
) -> tuple[Need, ...]:
    """What attempts of a run are held back for.

    Args:
        run: Its folder.
        cache: Where preparations and mirrors are kept.
        provider: Of its sandboxes.
        gateway: To its model, if it has one.
        patience: For how long attempts wait for whatever is away; None: as long as it may well
            take, 15 minutes for an engine or a provider and one for a disk.
    """
    return tuple(_needs(run, cache, provider, gateway, patience))


def needs_of_driver(
    run: Path, gateway: object | None, patience: timedelta | None
) -> tuple[Need, ...]:
    """What a run is held back for whose attempts are made elsewhere.

    Room for what comes back, and the model, which this machine asks as well as any other.
    """
    fault = partial(room_fault, (run,), _RECORDS)
    room = Need(fault=fault, patience=_or(patience, _DISK_PATIENCE))
    return (room, *_model_needs(gateway, patience))


def _needs(
    run: Path,
    cache: Path,
    provider: SandboxProvider,
    gateway: object | None,
    patience: timedelta | None,
) -> Iterator[Need]:
    yield Need(fault=lambda: engine_fault(provider), patience=_or(patience, _ENGINE_PATIENCE))
    # Looked at once: an engine that is away later cannot be asked where its disk is.
    places = (cache, *provider.places)
    yield Need(
        fault=lambda: room_fault((run,), _RECORDS) or room_fault(places, _SANDBOXES),
        patience=_or(patience, _DISK_PATIENCE),
    )
    yield from _model_needs(gateway, patience)


def _model_needs(gateway: object | None, patience: timedelta | None) -> Iterator[Need]:
    if isinstance(gateway, Probed):
        yield Need(
            fault=lambda: model_fault(gateway),
            patience=_or(patience, _MODEL_PATIENCE),
            costly=True,
        )


def _or(chosen: timedelta | None, usual: timedelta) -> timedelta:
    return usual if chosen is None else chosen


def engine_fault(provider: SandboxProvider) -> str | None:
    """What keeps a back end from making sandboxes."""
    try:
        provider.check()
    except SandboxError as fault:
        return str(fault)
    return None


def room_fault(places: Sequence[Path], needed: int) -> str | None:
    """Which place has fewer bytes free than are needed."""
    for place in places:
        there = next(path for path in (place, *place.absolute().parents) if path.exists())
        disk = shutil.disk_usage(there)
        if disk.free < min(needed, disk.total // _SHARE):
            free = f"{disk.free / _MIB:.1f} MiB"
            return f"{place}: no space left on device to speak of ({free} free): make room"
    return None


def model_fault(gateway: Probed) -> str | None:
    """Why a model does not answer."""
    try:
        gateway.probe()
    except (UsageError, UnavailableError) as fault:
        return str(fault)
    return None
