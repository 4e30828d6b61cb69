"""The query of an address, read strictly: what there is not is said, and not taken for nothing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

_T = TypeVar("_T", bound=StrEnum)
_DIGITS = 6


class BadQueryError(Exception):
    """An address asks for something that there is not; the message is for people."""


def member(words: type[_T], name: str, query: Mapping[str, str]) -> _T | None:
    """One of some words; None where nothing is said.

    Raises:
        BadQueryError: it is none of them.
    """
    said = query.get(name, "")
    if not said:
        return None
    try:
        return words(said)
    except ValueError:
        known = ", ".join(words)
        raise BadQueryError(f"{name}: found {said!r}; expected one of {known}.") from None


def whole_number(name: str, query: Mapping[str, str], *, default: int) -> int:
    """A number from 1 on.

    Raises:
        BadQueryError: it is none.
    """
    said = query.get(name, "")
    if not said:
        return default
    if not (said.isascii() and said.isdigit() and len(said) <= _DIGITS and int(said)):
        raise BadQueryError(f"{name}: found {said!r}; expected a number of 1 to {_DIGITS} digits.")
    return int(said)
