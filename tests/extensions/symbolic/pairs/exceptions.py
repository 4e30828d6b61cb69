"""Pairs that refuse some of their inputs."""

from contextlib import suppress


class RefusedError(ValueError):
    """An input that is not taken."""


def equal_percent(value: int) -> int:
    if not 0 <= value <= 100:
        raise ValueError(value)
    return value


def equal_percent_other(value: int) -> int:
    if value < 0 or value > 100:
        raise ValueError("percent")
    return value


def equal_lookup(table: dict[str, int], key: str) -> int:
    return table[key]


def equal_lookup_other(table: dict[str, int], key: str) -> int:
    if key not in table:
        raise KeyError(key)
    return table[key]


def equal_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def equal_number_other(text: str) -> int | None:
    with suppress(ValueError):
        return int(text.strip())
    return None


def equal_quotient(a: int, b: int) -> int:
    try:
        return a // b
    except ZeroDivisionError:
        raise RefusedError("b") from None


def equal_quotient_other(a: int, b: int) -> int:
    if b == 0:
        raise RefusedError("no division by nothing")
    return a // b


def different_refuses(value: int) -> int:
    if value < 0:
        raise ValueError(value)
    return value * 2


def different_refuses_other(value: int) -> int:
    if value <= 0:
        raise ValueError(value)
    return value * 2


def different_kind(key: str) -> str:
    if not key:
        raise KeyError(key)
    return key


def different_kind_other(key: str) -> str:
    if not key:
        raise IndexError(key)
    return key


def different_forgets(parts: list[int]) -> float:
    if not parts:
        raise RefusedError("nothing")
    return sum(parts) / len(parts)


def different_forgets_other(parts: list[int]) -> float:
    return sum(parts) / len(parts) if parts else 0.0


def different_runs_into(items: list[int], at: int) -> int:
    if at >= len(items) or at < 0:
        return -1
    return items[at]


def different_runs_into_other(items: list[int], at: int) -> int:
    if at > len(items) or at < 0:
        return -1
    return items[at]
