"""How often Python looks for garbage: seldom while a program starts, as usual once it works.

A start allocates a few hundred thousand objects, nearly all of them modules that stay: to look
through them 150 times, as the collector would, is a twentieth of the time of a short run.
The objects of a large report are no garbage either, and looking through them takes as long as
reading them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_WHILE_STARTING = 50_000  # objects
_usual: tuple[int, int, int] | None = None
_pausing = Lock()
_pauses = 0  # that go on at this moment


def look_seldom() -> None:
    """To be called once, by a program that starts; a library leaves the collector alone."""
    global _usual
    if _usual is None:
        _usual = gc.get_threshold()
        gc.set_threshold(_WHILE_STARTING)


def look_as_usual() -> None:
    """From here on, and never again at what is there by now; nothing without `look_seldom`."""
    global _usual
    if _usual is not None:
        gc.set_threshold(*_usual)
        gc.freeze()
        _usual = None


@contextmanager
def not_looking() -> Iterator[None]:
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
