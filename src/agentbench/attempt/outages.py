"""A circuit breaker: attempts wait while the engine, a disk or the model is unavailable.

Attempts that start in an outage would all fail, use up their retries and cost money. So they wait;
the outage is reported once, and they continue when it is over. Libraries for circuit breakers are
not used: their calls fail while the circuit is open, but attempts have to wait.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from agentbench.errors import OutageError, SandboxError, StorageError, UnavailableError, UsageError
from agentbench.sandbox.interface import SandboxProvider

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LONGEST_BACK_OFF = 15  # seconds between two checks
T = TypeVar("T")
_MIB = 1 << 20
# Bytes that must be free where records are stored: more than an attempt's logs usually take.
_RECORDS = 16 * _MIB
# Bytes that must be free where sandboxes are stored: a few workspaces of ordinary size.
_SANDBOXES = 256 * _MIB
_SHARE = 10  # on a small disk, only a tenth of it must be free
_ENGINE_PATIENCE = timedelta(minutes=15)  # for an upgrade, a reboot
_MODEL_PATIENCE = timedelta(minutes=15)
_DISK_PATIENCE = timedelta(minutes=1)  # space seldom becomes free by itself


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Raise StorageError for each OSError of the block.

    Raises:
        StorageError: the system refused an operation; the message says why and what to do.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written ({error.strerror or error}); free space or put it back, "
            "then continue the run with `agentbench resume`"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Something that every attempt needs."""

    fault: Callable[[], str | None]
    """Checks it; returns what is wrong, or None."""
    patience: timedelta  # how long attempts wait for it
    costly: bool = False  # checked only after an attempt has failed because of it


class CircuitBreaker:
    """Makes attempts wait in an outage. Safe to use from several threads."""

    def __init__(
        self,
        needs: Sequence[Requirement] = (),
        *,
        cancel: Event,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._needs = needs
        self._cancel = cancel
        self._say = say
        self.fault: str | None = None  # what attempts wait for now
        self._lock = Lock()
        self._suspected = False
        self._over: OutageError | None = None

    def suspect(self) -> None:
        """Check every requirement before the next attempt, including the costly ones."""
        self._suspected = True

    def require(self) -> None:
        """Return when everything is available, usually at once, or when the run is cancelled.

        Raises:
            OutageError: a requirement was not met for longer than attempts wait.
        """
        with self._lock:  # a second thread waits for the result of the first
            if self._over is not None:
                raise self._over
            suspected, self._suspected = self._suspected, False
            for need in self._needs:
                if suspected or not need.costly:
                    self._await(need)

    def written(self, write: Callable[[], T]) -> T:
        """Call `write`; if the disk refuses to write, call it again when there is space.

        Raises:
            StorageError: the disk refuses to write although there is space.
            OutageError: there was no space for longer than attempts wait.
        """
        try:
            return write()
        except StorageError:
            self.require()
            return write()

    def _await(self, need: Requirement) -> None:
        fault = need.fault()
        if fault is None or self._cancel.is_set():
            return
        began, self.fault = time.monotonic(), fault
        if need.patience:
            seconds = need.patience.total_seconds()
            longest = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
            self._say(f"paused: {fault}; continues when fixed, or ends in {longest} (Ctrl-C: now)")
        import tenacity  # imported here, since few runs have outages

        patience = tenacity.stop_after_delay(need.patience.total_seconds())
        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(patience, tenacity.stop_when_event_set(self._cancel)),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=_LONGEST_BACK_OFF),
            retry=tenacity.retry_if_result(bool),
            retry_error_callback=_last_result,
            sleep=tenacity.sleep_using_event(self._cancel),
        )
        last: str | None = retrying(need.fault)
        self.fault = None
        if last is None:
            self._say(f"continuing after {time.monotonic() - began:.0f} s")
        elif not self._cancel.is_set():
            self._over = OutageError(f"{last}; fix this, then continue with `agentbench resume`")
            raise self._over


def _last_result(state: "RetryCallState") -> str | None:
    assert state.outcome is not None
    last: str | None = state.outcome.result()
    return last


@runtime_checkable
class ProbesModel(Protocol):
    """A gateway that can ask whether its model answers."""

    def probe(self) -> None:
        """Ask the model for a token.

        Raises:
            UsageError: the key or the name is refused.
            UnavailableError: no answer came.
        """


def requirements_of(
    run: Path,
    gateway: object | None,
    patience: timedelta | None,
    *,
    local: tuple[Path, SandboxProvider] | None = None,
) -> tuple[Requirement, ...]:
    """The requirements of a run's attempts.

    Args:
        run: The folder of the run.
        gateway: The gateway to the model, if there is one.
        patience: How long attempts wait in an outage; None: 15 minutes for an engine or a model
            and one minute for a disk.
        local: The folder of preparations and the back end; None: attempts are made on other
            machines.
    """
    # Read now: an engine that is unavailable later cannot say where its disk is.
    folders = () if local is None else (local[0], *local[1].disk_folders)
    requirements = [
        Requirement(
            fault=lambda: (
                free_space_fault((run,), _RECORDS) or free_space_fault(folders, _SANDBOXES)
            ),
            patience=_DISK_PATIENCE,
        )
    ]
    if local is not None:
        engine = Requirement(fault=partial(fault_of, local[1].check), patience=_ENGINE_PATIENCE)
        requirements.insert(0, engine)
    if isinstance(gateway, ProbesModel):
        fault = partial(fault_of, gateway.probe)
        requirements.append(Requirement(fault=fault, patience=_MODEL_PATIENCE, costly=True))
    if patience is None:
        return tuple(requirements)
    return tuple(replace(requirement, patience=patience) for requirement in requirements)


def fault_of(check: Callable[[], None]) -> str | None:
    """Why the check of a back end or of a model fails."""
    try:
        check()
    except (SandboxError, UsageError, UnavailableError) as fault:
        return str(fault)
    return None


def free_space_fault(folders: Sequence[Path], needed: int) -> str | None:
    """A message about the first folder with less free space than needed."""
    for folder in folders:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        disk = shutil.disk_usage(existing)
        if disk.free < min(needed, disk.total // _SHARE):
            free = f"{disk.free / _MIB:.1f} MiB"
            return f"{folder}: almost no space left on device ({free} free): free some space"
    return None
