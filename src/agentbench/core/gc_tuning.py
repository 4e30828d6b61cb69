"""Tunes the garbage collector: rare collections while a program starts, usual ones later.

A start allocates a few hundred thousand objects that nearly all stay; 150 collections among them
take a twentieth of a short run. The objects of a large report stay, too, and collecting among them
takes as long as reading them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_STARTUP_THRESHOLD = 50_000  # objects
_usual: tuple[int, int, int] | None = None
_pausing = Lock()
_pauses = 0  # blocks of `paused` that are open now


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
    """Pause the collector for a block of seconds at most that makes many lasting objects.

    Blocks may overlap, also in several threads. A collector that was off stays off.
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
