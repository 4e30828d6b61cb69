"""Rates and how sure one can be of them."""

from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A confidence interval of a rate; both bounds lie in 0 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate (Wilson 1927), which stays honest near 0 and 1.

    Raises:
        ValueError: not 0 <= successes <= total, or confidence not strictly between 0 and 1.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"expected 0 <= successes <= total, found {successes} of {total}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, found {confidence}")
    if total == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = successes / total
    centre = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = (
        z * (rate * (1 - rate) / total + z * z / (4 * total * total)) ** 0.5 / (1 + z * z / total)
    )
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == total else centre + half
    return Interval(low, high)
