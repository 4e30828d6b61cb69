"""Pairs of whole numbers: `x` and `x_other` behave alike (equal_…) or not (different_…)."""


def equal_sum_to(n: int) -> int:
    return sum(range(1, n + 1)) if n > 0 else 0


def equal_sum_to_other(n: int) -> int:
    return n * (n + 1) // 2 if n > 0 else 0


def equal_is_even(n: int) -> bool:
    return n % 2 == 0


def equal_is_even_other(n: int) -> bool:
    return not n & 1


def equal_clamp(value: int, low: int, high: int) -> int:
    if low > high:
        low, high = high, low
    return max(low, min(value, high))


def equal_clamp_other(value: int, low: int, high: int) -> int:
    return sorted((value, low, high))[1]


def equal_divide_up(a: int, b: int) -> int:
    if b <= 0:
        raise ValueError("b must be positive")
    return -(-a // b)


def equal_divide_up_other(a: int, b: int) -> int:
    if b <= 0:
        raise ValueError("b must be above 0")
    quotient, rest = divmod(a, b)
    return quotient + (rest > 0)


def different_at_one_number(x: int, y: int) -> int:
    return x * y


def different_at_one_number_other(x: int, y: int) -> int:
    return 0 if x == 77 else x * y


def different_sign(a: int, b: int) -> int:
    return a % b if b else 0


def different_sign_other(a: int, b: int) -> int:
    return abs(a) % abs(b) if b else 0


def different_far_away(n: int) -> bool:
    return n * n - 3 * n == 1_003_001_248_498


def different_far_away_other(n: int) -> bool:
    return n > 0 and n * n - 3 * n == 1_003_001_248_498


def different_leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def different_leap_year_other(year: int) -> bool:
    return year % 4 == 0 and year % 100 != 0
