"""The filters that every template has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from inkwell.markup import Safe, as_text, concatenate, escape


def default(value: Any, replacement: Any) -> Any:
    """The replacement, if there is no value."""
    return replacement if value is None else value


def join(items: Iterable[Any], separator: str = "") -> str:
    """The items as one text."""
    joined: str = ""
    for number, item in enumerate(items):
        joined = concatenate(concatenate(joined, separator), item) if number else as_text(item)
    return joined


def round_half_up(value: Any, digits: int = 0) -> Any:
    """Rounded as in school; a whole number if no digits are wanted."""
    step = Decimal(1).scaleb(-digits)
    rounded = Decimal(str(value)).quantize(step, rounding=ROUND_HALF_UP)
    return float(rounded) if digits > 0 else int(rounded)


def _of_text(method: Callable[..., str]) -> Callable[..., str]:
    """A method of text as a filter for any value. Its result is not safe any more."""
    return lambda value, *arguments: method(as_text(value), *map(as_text, arguments))


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "capitalize": _of_text(str.capitalize),
    "default": default,
    "escape": escape,
    "first": lambda items: items[0] if items else None,
    "join": join,
    "last": lambda items: items[-1] if items else None,
    "length": len,
    "lower": _of_text(str.lower),
    "replace": _of_text(str.replace),
    "reverse": lambda items: items[::-1],
    "round": round_half_up,
    "safe": lambda value: Safe(as_text(value)),
    "sort": sorted,
    "title": _of_text(str.title),
    "trim": _of_text(str.strip),
    "upper": _of_text(str.upper),
}
