"""How often Python collects garbage: rarely while a program starts, as usual later.

A start allocates a few hundred thousand objects, nearly all of them modules that stay: to collect
150 times among them is a twentieth of the time of a short run. The objects of a large report are no
garbage either, and collecting among them takes as long as reading them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_STARTUP_THRESHOLD = 50_000  # objects
_usual: tuple[int, int, int] | None = None
_pausing = Lock()
_pauses = 0  # that go on at this moment


def relax() -> None:
    """To be called once, by a program that starts; a library leaves the collector alone."""
    global _usual
    if _usual is None:
        _usual = gc.get_threshold()
        gc.set_threshold(_STARTUP_THRESHOLD)


def restore() -> None:
    """From here on, and never again at what is there by now; nothing without `relax`."""
    global _usual
    if _usual is not None:
        gc.set_threshold(*_usual)
        gc.freeze()
        _usual = None


@contextmanager
def paused() -> Iterator[None]:
    """For a block that makes very many objects, none of them garbage, and takes seconds at most.

    Blocks may overlap, in several threads. A collector that was off stays off.
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
