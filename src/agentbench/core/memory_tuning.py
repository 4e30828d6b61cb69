"""Tunes the memory of this process: when to collect garbage, and what to return to the system.

A start allocates a few hundred thousand objects that nearly all stay; 150 collections among them
take a twentieth of a short run, and two late ones still 35 ms. The objects of a large report stay,
too, and collecting among them takes as long as reading them.

The C library keeps freed memory in pools, up to eight for each core, in pieces that are too
scattered to be reused: 500 attempts, eight at a time, left 10 MB of it. Two pools instead of
fifteen held 10 MB less after 1,000 attempts, four at a time (measured with glibc 2.36).
"""

import gc
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from threading import Lock
from typing import TypeVar

from agentbench.core.host import available_cpus

_STARTUP_THRESHOLD = 300_000  # objects; twice as many as after a start
_usual: tuple[int, int, int] | None = None
_pausing = Lock()
_pauses = 0  # blocks of `paused` that are open now
_EVERY = 32  # records; a call takes milliseconds, or tens where there is much
_LEAST_POOLS = 2
_M_ARENA_MAX = -8  # of mallopt(3)
POOL_VARIABLES = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Variables of the environment with which a user tunes glibc's pools."""

_Item = TypeVar("_Item")


def relax() -> None:
    """Collect rarely from now on. Only a program calls this at its start, never a library."""
    global _usual
    if _usual is None:
        _usual = gc.get_threshold()
        gc.set_threshold(_STARTUP_THRESHOLD)


def restore() -> None:
    """Undo `relax`, and exempt the objects that exist by now from collection."""
    global _usual
    if _usual is not None:
        gc.set_threshold(*_usual)
        gc.freeze()
        _usual = None


@contextmanager
def paused() -> Iterator[None]:
    """Pause the collector for a block of a few seconds that creates many lasting objects.

    Blocks may overlap, also in several threads. A disabled collector stays disabled.
    """
    global _pauses
    with _pausing:
        is_ours = _pauses > 0 or gc.isenabled()
        if is_ours:
            _pauses += 1
            gc.disable()
    try:
        yield
    finally:
        if is_ours:
            with _pausing:
                _pauses -= 1
                if not _pauses:
                    gc.enable()


def trimming_memory(items: Generator[_Item, None, None]) -> Generator[_Item, None, None]:
    """Yield the items, and regularly return freed memory to the system. Closes the generator."""
    with closing(items):
        for number, item in enumerate(items, 1):
            yield item
            if number % _EVERY == 0:
                trim_memory()


def trim_memory() -> None:
    """Let the C library return all free pages to the system, if it can."""
    trim = _c_function("malloc_trim")
    if trim is not None:
        trim(0)


def limit_pools() -> None:
    """Let threads share pools: one for each core, at least two, unless the user has set a number.

    By default glibc creates eight for each core. The limit holds for the whole process; pools that
    exist already stay.
    """
    mallopt = _c_function("mallopt")
    if mallopt is not None and not any(name in os.environ for name in POOL_VARIABLES):
        mallopt(_M_ARENA_MAX, max(_LEAST_POOLS, available_cpus()))


@cache
def _c_function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if that has no such function, since it is not glibc."""
    import ctypes  # imported here, since it would slow down each start

    with suppress(OSError, AttributeError):
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found
    return None
