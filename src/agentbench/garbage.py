"""How often Python looks for garbage: seldom while a program starts, as usual once it works.

A start allocates a few hundred thousand objects, nearly all of them modules that stay: to look
through them 150 times, as the collector would, is a twentieth of the time of a short run.
"""

import gc

_WHILE_STARTING = 50_000  # objects
_usual: tuple[int, int, int] | None = None


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
