"""What a step of a program did, and whether two trees did the same."""

from __future__ import annotations

from typing import Any

from agentbench_values import same

RETURNS, RAISES, TIMEOUT = "returns", "raises", "timeout"
ALL, CONTRACT = "all", "contract"
_NO_SIGN = ("RecursionError", "MemoryError")  # of how much there is here, not of what is right
_UNFIT = ("TypeError", "AttributeError")  # what a value of a wrong type comes to


def words(step: dict[str, Any]) -> str:
    """For a reader: `returns 1`, `raises ValueError: …`."""
    if step["kind"] == TIMEOUT:
        return f"does not end within {step['seconds']:g} s"
    return f"{step['kind']} {step['text']}"


def says_something(step: dict[str, Any], *, errors: str, inferred: bool) -> bool:
    """Whether what the reference did says how it is meant to be."""
    if step["kind"] == TIMEOUT:
        return False
    if step["kind"] == RETURNS:
        return True
    if _is_one_of(step, _NO_SIGN) or (inferred and _is_one_of(step, _UNFIT)):
        return False
    return errors == ALL or bool(step["explicit"])


def differ(left: dict[str, Any], right: dict[str, Any], *, errors: str, inferred: bool) -> bool:
    """Whether the other did something else than the reference, which says something."""
    if right["kind"] == TIMEOUT:
        return errors == CONTRACT and left["seconds"] * 100 < right["seconds"]
    if right["kind"] == RAISES:
        if _is_one_of(right, _NO_SIGN) or (inferred and _is_one_of(right, _UNFIT)):
            return False
        return left["kind"] == RETURNS or not _related(left, right, errors)
    return left["kind"] == RAISES or not same(left["form"], right["form"])


def _related(left: dict[str, Any], right: dict[str, Any], errors: str) -> bool:
    if left["type"] == right["type"]:
        return True
    return errors == CONTRACT and (left["type"] in right["mro"] or right["type"] in left["mro"])


def _is_one_of(step: dict[str, Any], names: tuple[str, ...]) -> bool:
    return any(name in step["mro"] for name in names)
