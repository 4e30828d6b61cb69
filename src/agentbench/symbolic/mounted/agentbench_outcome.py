"""What a step of a program did, and whether two trees did the same."""

from __future__ import annotations

import math
from typing import Any

RETURNS, RAISES, TIMEOUT = "returns", "raises", "timeout"
ALL, CONTRACT = "all", "contract"
_RELATIVE = 1e-9  # another order of the same sums is no other behaviour
_ABSOLUTE = 1e-12
_NO_SIGN = ("RecursionError", "MemoryError")  # of how much there is here, not of what is right
_LONGEST = 160  # characters of what is printed
_OF_THE_MACHINE = ("OSError",)  # files and hosts that an input names, and that are not there
_CLOSED = ("opaque", "cut")
_UNFIT = ("TypeError", "AttributeError")  # what a value of a wrong type comes to


def words(step: dict[str, Any]) -> str:
    """For a reader: `returns 1`, `raises ValueError: …`, `prints 'a' and returns None`."""
    if step["kind"] == TIMEOUT:
        return f"does not end within {step['seconds']:g} s"
    printed = [
        f"{verb} {_shortened(step[stream])} and "
        for stream, verb in (("stdout", "prints"), ("stderr", "complains"))
        if step.get(stream)
    ]
    return f"{''.join(printed)}{step['kind']} {step['text']}"


def _shortened(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 2]} …"


def says_something(step: dict[str, Any], *, errors: str, inferred: bool) -> bool:
    """Whether what the reference did says how it is meant to be."""
    if step["kind"] == TIMEOUT:
        return False
    if step["kind"] == RETURNS:
        return True
    if _is_one_of(step, _NO_SIGN) or (inferred and _is_one_of(step, _UNFIT)):
        return False
    if _is_one_of(step, _OF_THE_MACHINE) and not step["explicit"]:
        return False
    return errors == ALL or bool(step["explicit"])


def shows_something(step: dict[str, Any]) -> bool:
    """Whether there is anything to see of what the reference did, but that it ended."""
    if step["kind"] == RAISES or step.get("stdout") or step.get("stderr"):
        return True
    return step["form"][0] not in ("none", *_CLOSED)


def is_hidden(form: list[Any]) -> bool:
    """Whether a part of a value cannot be looked into."""
    if form[0] in _CLOSED:
        return True
    if form[0] in ("items", "set"):
        return any(map(is_hidden, form[2]))
    if form[0] == "fields":
        return any(map(is_hidden, form[2].values()))
    return form[0] == "map" and any(is_hidden(part) for pair in form[2] for part in pair)


def differ(left: dict[str, Any], right: dict[str, Any], *, errors: str, inferred: bool) -> bool:
    """Whether the other did something else than the reference, which says something."""
    if right["kind"] == TIMEOUT:
        return errors == CONTRACT and left["seconds"] * 100 < right["seconds"]
    if right["kind"] == RAISES:
        if _is_one_of(right, _NO_SIGN) or (inferred and _is_one_of(right, _UNFIT)):
            return False
        return left["kind"] == RETURNS or not _related(left, right, errors)
    if left["kind"] == RAISES or not same(left["form"], right["form"]):
        return True
    streams = ("stdout", "stderr") if errors == ALL else ("stdout",)
    return any(left.get(stream) != right.get(stream) for stream in streams)


def is_reordered(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether both return the same items, and in another order."""
    one, other = left.get("form"), right.get("form")
    if not one or not other or one[:1] != ["items"] or one[:2] != other[:2]:
        return False
    return sorted(map(repr, one[2])) == sorted(map(repr, other[2]))


def _related(left: dict[str, Any], right: dict[str, Any], errors: str) -> bool:
    if left["type"] == right["type"]:
        return True
    return errors == CONTRACT and (left["type"] in right["mro"] or right["type"] in left["mro"])


def _is_one_of(step: dict[str, Any], names: tuple[str, ...]) -> bool:
    return any(name in step["mro"] for name in names)


def same(left: list[Any], right: list[Any]) -> bool:
    """Whether two forms show the same; what cannot be looked into is the same as all else."""
    if left[0] in _CLOSED or right[0] in _CLOSED:
        return True
    if left[0] != right[0]:
        return False
    kind = left[0]
    if kind == "number":
        return _same_number(left[1], right[1])
    if kind in ("items", "set", "map", "fields"):
        return left[1] == right[1] and _same_parts(kind, left[2], right[2])
    return left == right


def _same_number(left: Any, right: Any) -> bool:
    if left == right:
        return True
    try:
        one, other = float(left), float(right)
    except (ValueError, TypeError, OverflowError):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if one.is_integer() and other.is_integer() and "." not in f"{left}{right}":
        return False  # whole numbers differ by one or they do not
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _same_parts(kind: str, left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if kind == "fields":
        return set(left) == set(right) and all(same(left[name], right[name]) for name in left)
    if kind == "items":
        return all(map(same, left, right))
    waiting = list(right)
    for part in left:  # unordered: sets, and mappings as pairs
        at = next((n for n, other in enumerate(waiting) if _same_part(kind, part, other)), None)
        if at is None:
            return False
        del waiting[at]
    return True


def _same_part(kind: str, left: Any, right: Any) -> bool:
    if kind == "set":
        return same(left, right)
    return same(left[0], right[0]) and same(left[1], right[1])
