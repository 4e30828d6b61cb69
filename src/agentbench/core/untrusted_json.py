"""Reads JSON of code under test or a model's provider: bounded, typed, without exceptions."""

import json
import math
import re
from collections.abc import Iterator

import msgspec

from agentbench.core.schema import JsonObject

TEXT_LIMIT = 200_000
"""The most characters of one text: half from its start, half from its end."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def json_object(source: str) -> JsonObject | None:
    """A JSON object, or None if the text is invalid, nested too deep or another type.

    Lone surrogates are replaced and numbers that JSON cannot hold become null, so that the result
    can always be written as JSON again.
    """
    try:
        try:
            # Strict, and twice as fast as json; most reports have tens of thousands of lines.
            value: object = msgspec.json.decode(source)
        except ValueError:
            value = json.loads(source, parse_constant=null_for_constant, parse_float=finite_or_none)
            if _SURROGATE.search(source):
                value = _encodable(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text(value: object, limit: int = TEXT_LIMIT) -> str:
    """A string that can be encoded, shortened in its middle; "" for anything else."""
    if not isinstance(value, str):
        return ""
    value = cut_middle(value, limit)
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def cut_middle(text: str, limit: int) -> str:
    """A text's start and end, with a line that says how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def seconds(value: object) -> float:
    """A finite duration of at least 0; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) and number > 0 else 0.0


def count(value: object) -> int | None:
    """A whole number from 0 to a billion, or None."""
    return value if type(value) is int and 0 <= value <= 1_000_000_000 else None


def exit_status(value: object) -> int | None:
    """An exit code, or None."""
    return value if type(value) is int and -255 <= value <= 255 else None


def objects(value: object) -> Iterator[JsonObject]:
    """The objects in a list; other elements are skipped."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def null_for_constant(_constant: str) -> None:
    """The replacement for NaN and infinities, which JSON does not have."""
    return


def finite_or_none(digits: str) -> float | None:
    """The number that digits stand for, or None if it is too large for a float."""
    number = float(digits)
    return number if math.isfinite(number) else None


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return text(value, len(value))
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {text(key, len(key)): _encodable(item) for key, item in value.items()}
    return value
