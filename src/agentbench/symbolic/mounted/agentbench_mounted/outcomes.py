"""The outcome of a step of a program, and whether two trees behaved alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .foreign_code import is_explicit, message_of, shorten, text_of
from .values import form_of, is_same, is_visible

if TYPE_CHECKING:
    from .messages import Step

RETURNS, RAISES, TIMEOUT = "returns", "raises", "timeout"
ALL, CONTRACT = "all", "contract"
_MACHINE_LIMITS = ("RecursionError", "MemoryError")  # depend on the machine, not on the code
_MACHINE_ERRORS = ("OSError",)  # an input names files and hosts that do not exist
_TYPE_ERRORS = ("TypeError", "AttributeError")  # the effect of a value of a wrong type


def returned(value: object) -> Step:
    """The step that returned a value."""
    return {"kind": RETURNS, "form": form_of(value), "text": text_of(value)}


def raised(error: BaseException, paths: tuple[str, ...]) -> Step:
    """The step that raised an error, in a project in these folders."""
    kind = type(error)
    bases = [one for one in kind.__mro__ if one not in (Exception, BaseException, object)]
    return {
        "kind": RAISES,
        "type": kind.__name__,
        "mro": [one.__name__ for one in bases],
        "explicit": is_explicit(error, paths),
        "text": f"{kind.__name__}: {message_of(error)}",
    }


def words(step: Step) -> str:
    """For a reader: `returns 1`, `raises ValueError: …`, `prints 'a' and returns None`."""
    if step["kind"] == TIMEOUT:
        return f"does not end within {step['seconds']:g} s"
    printed = ""
    if step.get("stdout"):
        printed += f"prints {shorten(repr(step['stdout']))} and "
    if step.get("stderr"):
        printed += f"complains {shorten(repr(step['stderr']))} and "
    return f"{printed}{step['kind']} {step['text']}"


def says_something(step: Step, *, errors: str, inferred: bool) -> bool:
    """Whether the reference's step shows how the code is meant to behave."""
    if step["kind"] == TIMEOUT:
        return False
    if step["kind"] == RETURNS:
        return True
    if _is_no_evidence(step, inferred=inferred):
        return False
    if _is_one_of(step, _MACHINE_ERRORS) and not step["explicit"]:
        return False
    return errors == ALL or bool(step["explicit"])


def shows_something(step: Step) -> bool:
    """Whether the reference's step has any visible effect besides its end."""
    if step["kind"] == RAISES or step.get("stdout") or step.get("stderr"):
        return True
    return is_visible(step["form"])


def differ(left: Step, right: Step, *, errors: str, inferred: bool) -> bool:
    """Whether the other tree behaved otherwise than the reference, whose step says something."""
    if right["kind"] == TIMEOUT:
        return errors == CONTRACT and left["seconds"] * 100 < right["seconds"]
    if right["kind"] == RAISES:
        if _is_no_evidence(right, inferred=inferred):
            return False
        return left["kind"] == RETURNS or not _are_related(left, right, errors)
    if left["kind"] == RAISES or not is_same(left["form"], right["form"]):
        return True
    if left.get("stdout") != right.get("stdout"):
        return True
    return errors == ALL and left.get("stderr") != right.get("stderr")


def is_reordered(left: Step, right: Step) -> bool:
    """Whether both return the same items in another order."""
    one, other = left.get("form"), right.get("form")
    if not one or not other or one[:1] != ["items"] or one[:2] != other[:2]:
        return False
    return sorted(map(repr, one[2])) == sorted(map(repr, other[2]))


def _is_no_evidence(step: Step, *, inferred: bool) -> bool:
    return _is_one_of(step, _MACHINE_LIMITS) or (inferred and _is_one_of(step, _TYPE_ERRORS))


def _are_related(left: Step, right: Step, errors: str) -> bool:
    if left["type"] == right["type"]:
        return True
    return errors == CONTRACT and (left["type"] in right["mro"] or right["type"] in left["mro"])


def _is_one_of(step: Step, names: tuple[str, ...]) -> bool:
    return any(name in step["mro"] for name in names)
