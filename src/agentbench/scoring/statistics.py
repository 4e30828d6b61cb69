"""Rates and how sure one can be of them."""

from statistics import NormalDist
from typing import NamedTuple

ALPHA = 0.05
"""The level of every test, unless another one is asked for; intervals are of 1 minus it."""


class Interval(NamedTuple):
    """A confidence interval: of a rate, within 0 to 1, or of a difference, within -1 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate (Wilson 1927), which stays honest near 0 and 1.

    Raises:
        ValueError: not 0 <= successes <= total, or confidence not strictly between 0 and 1.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"expected 0 <= successes <= total, found {successes} of {total}")
    return wilson_bounds(successes / total if total else 0.0, total, confidence=confidence)


def wilson_bounds(rate: float, size: float, *, confidence: float = 0.95) -> Interval:
    """The same of a rate over a sample whose effective size need not be a whole number.

    Raises:
        ValueError: confidence is not strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, found {confidence}")
    if size == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * (rate * (1 - rate) / size + z * z / (4 * size * size)) ** 0.5 / (1 + z * z / size)
    low = 0.0 if rate == 0 else centre - half
    high = 1.0 if rate == 1 else centre + half
    return Interval(low, high)
