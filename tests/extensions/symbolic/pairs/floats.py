"""Pairs over floating-point numbers: another order of the same sums is no difference."""

import math


def equal_mean(a: float, b: float) -> float:
    return (a + b) / 2


def equal_mean_other(a: float, b: float) -> float:
    return a / 2 + b / 2


def equal_norm(x: float, y: float) -> float:
    return math.sqrt(x * x + y * y)


def equal_norm_other(x: float, y: float) -> float:
    return math.hypot(x, y)


def equal_total(values: list[float]) -> float:
    return sum(values)


def equal_total_other(values: list[float]) -> float:
    return math.fsum(values)


def equal_polynomial(x: float) -> float:
    return 3 * x**2 + 2 * x + 1


def equal_polynomial_other(x: float) -> float:
    return (3 * x + 2) * x + 1


def different_round(value: float) -> int:
    return math.floor(value)


def different_round_other(value: float) -> int:
    return int(value)


def different_share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def different_share_other(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def different_nan(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return max(known, default=0.0)


def different_nan_other(values: list[float]) -> float:
    return max(values, default=0.0)


def different_tax(price: float) -> float:
    return price * 1.19 if price < 1000.0 else price * 1.07


def different_tax_other(price: float) -> float:
    return price * 1.19 if price <= 1000.0 else price * 1.07
