"""How long something takes, on a machine that others keep busy as well."""

from collections.abc import Callable


def quickest(measured: Callable[[], float], enough: float, tries: int = 3) -> float:
    """The shortest of a few seconds measured; the first one that is short enough ends it."""
    took = measured()
    for _ in range(tries - 1):
        if took < enough:
            break
        took = min(took, measured())
    return took
