"""Parts of recordings, and recordings as JSON to store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from agentbench.core.schema import JsonObject
from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Group,
    Instance,
    Leaf,
    Recording,
    digest_of,
    recording_of,
    to_json,
)
from agentbench.integrity.sealing.equality import Agreement, matched
from agentbench.integrity.sealing.expected_trees import Container, Known, Side
from agentbench.integrity.sealing.plain_values import like
from agentbench.integrity.sealing.references import (
    is_informative,
    is_other_value,
    same_as_reference,
)

_MORE_BASES = 4


def recording_to_json(recording: Recording) -> JsonObject:
    """A recording in the recorder's own form."""
    found: JsonObject = {
        "site": recording.site,
        "values": [to_json(value) for value in recording.values],
    }
    if recording.is_error:
        raised = recording.raised
        found["raised"] = None if raised is None else to_json(raised)
    if recording.warned is not None:
        found["warned"] = [to_json(value) for value in recording.warned]
    return found


def parse_recording(form: JsonObject) -> Recording:
    """A stored recording; a malformed one has no values and agrees with nothing."""
    found = recording_of(form)
    return Recording(site=-1) if found is None else found


def elements_of(value: CanonicalValue) -> tuple[CanonicalValue, ...] | None:
    """The elements of a recorded list; None if it is not a list."""
    match value:
        case Group(kind="list" | "tuple", items=items, rest=None):
            return items
        case _:
            return None


def token_of(value: CanonicalValue) -> int | None:
    """The number of a token; None if it is another value."""
    match value:
        case Group(kind="token", items=(Leaf(kind="int") as number,)):
            return cast("int", number.value)  # its parser makes nothing else
        case _:
            return None


def text_of(value: CanonicalValue) -> str | None:
    """The text of a value, which may be of a subclass of str or disclosed; None: no text."""
    match value:
        case Leaf(kind="str", value=str() as text):
            return text
        case Instance(base=Leaf(kind="str", value=str() as text)):
            return text
        case Instance():
            disclosed = value.disclosed("str")
            return None if disclosed is None else text_of(disclosed)
        case _:
            return None


def equal_in_any_order(left: Side, right: Side, *, is_part: bool = False) -> Agreement:
    """Whether two sequences have equal elements, in any order; a part may lack some."""
    ours, theirs = _unordered(left), _unordered(right)
    if ours is None or theirs is None:
        return Agreement.UNKNOWN
    if len(ours) > len(theirs) or (len(ours) < len(theirs) and not is_part):
        return Agreement.NO
    return matched(theirs, ours)


def without_order(recording: Recording) -> Recording:
    """A copy with sequences as sets, for an assertion that ignores the order."""
    values = []
    for value in recording.values:
        items = _unordered(value)
        if items is not None:
            found = [item for item in items if isinstance(item, CanonicalValue)]
            value = Group("set", tuple(sorted(found, key=digest_of)))
        values.append(value)
    return replace(recording, values=tuple(values))


def agree(recording: Recording, references: Sequence[Recording]) -> bool:
    """Whether a recording is like those of the reference solution at the same place."""
    first = references[0]
    if len(recording.values) != len(first.values) or recording.is_error != first.is_error:
        return False
    same = [other for other in references if len(other.values) == len(recording.values)]
    return all(
        same_as_reference(value, [other.values[at] for other in same])
        for at, value in enumerate(recording.values)
    ) and _events_agree(recording, same)


def is_wrong_value(recording: Recording, references: Sequence[Recording]) -> bool:
    """Whether a value of an equality differs from the reference's, and nothing else does.

    If several differ, they may still be equal to each other in a right fix.
    """
    columns = [tuple(other.values) for other in references]
    if any(len(column) != len(recording.values) for column in columns):
        return False
    differing = [
        (value, known)
        for value, *known in zip(recording.values, *columns, strict=True)
        if digest_of(value) not in map(digest_of, known)
    ]
    return len(differing) == 1 and is_other_value(*differing[0])


def are_informative(references: Sequence[Recording]) -> bool:
    """Whether the recordings of the reference solution show more than types."""
    columns = zip(*(other.values for other in references), strict=False)
    raised = [one.raised for one in references if one.raised is not None]
    events = [raised, *zip(*(one.warned or () for one in references), strict=False)]
    told = [[t for e in column if (t := _text_of_error(e)) is not None] for column in events]
    return any(is_informative(column) for column in (*columns, *filter(None, told)))


def _text_of_error(value: CanonicalValue) -> CanonicalValue | None:
    text = value.disclosed("str") if isinstance(value, Instance) else None
    return None if text == Leaf("str", "") else text


def is_broad(recording: Recording, references: Sequence[Recording]) -> bool:
    """Whether an exception has many more bases than the reference's, to match any of them."""
    known = [one.raised for one in references if isinstance(one.raised, Instance)]
    if not known or not isinstance(recording.raised, Instance):
        return False
    return len(recording.raised.types) > _MORE_BASES + max(len(one.types) for one in known)


def _events_agree(recording: Recording, references: Sequence[Recording]) -> bool:
    if recording.is_error:
        raised = [other.raised for other in references if other.raised is not None]
        if recording.raised is None or not raised:
            return recording.raised is None and not raised
        return same_as_reference(recording.raised, raised)
    if recording.warned is None:
        return True
    ours = {_type_text(value) for value in recording.warned}
    if all(ours != {_type_text(v) for v in other.warned or ()} for other in references):
        return False
    columns = zip(*(other.warned or () for other in references), strict=False)
    return all(
        any(same_as_reference(warning, column) for warning in recording.warned)
        for column in columns
    )


def _type_text(value: CanonicalValue) -> str:
    return value.name if isinstance(value, Instance) else ""


def _unordered(side: Side) -> Sequence[Side] | None:
    match side:
        case Known(value=value):
            return _unordered(value)
        case Container(items=items) | Group(items=items, rest=None):
            return items
        case Instance():
            inner = like(side, Group("list", ()))
            return None if inner is None else _unordered(inner)
        case _:
            return None
