"""Compares a recorded value with the recordings of the reference solution at its place."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Digest,
    Group,
    Instance,
    Leaf,
    Unreadable,
    digest_of,
    last_part,
)
from agentbench.integrity.sealing.equality import Agreement, equal
from agentbench.integrity.sealing.plain_values import (
    MAPPINGS,
    SEQUENCES,
    SETS,
    NotPlainError,
    like,
    to_python,
)

_RELATIVE, _ABSOLUTE = 1e-9, 1e-12  # the same sum in another order
_MOST_MATCHED = 100
_INFORMATIVE = ("str", "repr", "list", "dict", "index", "int", "float", "bytes", "wrapped")
_NUMBERS = ("int", "float", "complex", "decimal", "fraction")
_FRACTIONS = _NUMBERS[1:]
_FAMILIES = (_NUMBERS, SETS, MAPPINGS, ("bytes", "bytearray"))


def same_as_reference(actual: CanonicalValue, references: Sequence[CanonicalValue]) -> bool:
    """Whether the reference solution could have recorded a value.

    Parts in which its recordings differ, such as times and random ids, are ignored. An object is
    compared by its public state, else by its private state, else by the results of its methods.

    Args:
        actual: the value.
        references: the recordings in the runs of the reference solution; at least one.
    """
    first = references[0]
    if any(isinstance(reference, Unreadable) for reference in references):
        return True
    if isinstance(actual, Unreadable) or isinstance(first, Unreadable):
        return False
    if len({_shape(reference) for reference in references}) > 1:
        return True
    if isinstance(first, Digest) or isinstance(actual, Digest):
        return digest_of(actual) in map(digest_of, references) or _differ(references)
    if isinstance(first, Instance):
        instances = [each for each in references if isinstance(each, Instance)]
        bases = [each.base for each in instances if each.base is not None]
        if not isinstance(actual, Instance):  # the value of a text or a number of an own class
            return len(bases) == len(references) and same_as_reference(actual, bases)
        return _same_instance(actual, instances)
    if isinstance(actual, Instance):
        inner = like(actual, first)
        return inner is not None and same_as_reference(inner, references)
    if _family(actual.kind) != _family(first.kind):
        return False
    if isinstance(first, Group) and isinstance(actual, Group) and first.rest is None:
        return _same_group(actual, [each for each in references if isinstance(each, Group)])
    return _differ(references) or _same_plain(actual, first)


def is_other_value(actual: CanonicalValue, references: Sequence[CanonicalValue]) -> bool:
    """Whether a value cannot be right where the reference solution's runs recorded these.

    Only plain values without fractions decide. Objects of right fixes may differ in their state,
    and an assertion that the host does not know may have a tolerance, or ignore space and order.
    """
    first = references[0]
    if same_as_reference(actual, references) or _differ(references):
        return False
    if isinstance(first, Instance | Digest | Unreadable) or _has_fraction(first):
        return False
    if isinstance(actual, Instance):
        inner = like(actual, first)
        return inner is None or is_other_value(inner, references)
    match actual, first:
        case Leaf(kind="str", value=str(one)), Leaf(kind="str", value=str(other)):
            return one.split() != other.split()
        case Group(items=items, rest=None), Group(items=others) if first.kind in SEQUENCES:
            return sorted(map(digest_of, items)) != sorted(map(digest_of, others))
        case _:
            return True


def _has_fraction(value: CanonicalValue) -> bool:
    if isinstance(value, Group):
        return value.kind in _FRACTIONS or any(map(_has_fraction, value.items))
    return not isinstance(value, Leaf) or value.kind in _FRACTIONS


def is_informative(references: Sequence[CanonicalValue]) -> bool:
    """Whether the reference's recordings of a value show more than its type."""
    if _differ(references) and len({_shape(reference) for reference in references}) > 1:
        return False
    match references[0]:
        case Unreadable():
            return False
        case Instance(kind="mock"):
            return False
        case Instance() as own:
            disclosed = any(own.disclosed(name) is not None for name in _INFORMATIVE)
            return bool(own.base or own.public or own.private or disclosed)
        case Group(kind=kind, items=items) if items and kind not in SETS:
            return not _differ(references) or len(items) > 1
        case _:
            return not _differ(references)


def _shape(value: CanonicalValue) -> tuple[object, ...]:
    match value:
        case Leaf(kind=kind):
            return (_family(kind),)
        case Group(kind=kind, items=items) if kind in SEQUENCES:
            return (kind, len(items))
        case Group(kind=kind):
            return (_family(kind),)
        case Instance(kind=kind, types=types):
            return (kind, *types[:1])
        case _:
            return ("other",)


def _family(kind: str) -> str:
    return next((family[0] for family in _FAMILIES if kind in family), kind)


def _differ(references: Sequence[CanonicalValue]) -> bool:
    return len(references) > 1 and len(set(map(digest_of, references))) > 1


def _same_plain(actual: CanonicalValue, reference: CanonicalValue) -> bool:
    if equal(actual, reference) is Agreement.YES or actual == reference:
        return True
    try:
        one, other = to_python(actual), to_python(reference)
    except NotPlainError:
        return False
    if not (isinstance(one, float) and isinstance(other, float | int | Decimal | Fraction)):
        return False
    try:
        is_nan = one != one and other != other
        return is_nan or math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    except (ValueError, ArithmeticError):  # no float holds the other number; a signalling NaN
        return False


def _same_group(actual: Group, references: list[Group]) -> bool:
    first = references[0]
    if first.kind in MAPPINGS:
        return _same_mapping(actual, references)
    if first.kind in SETS:
        return _differ(references) or _same_set(actual, first)
    if first.kind in (*SEQUENCES, "call", "slice"):
        return len(actual.items) == len(first.items) and all(
            same_as_reference(item, [reference.items[at] for reference in references])
            for at, item in enumerate(actual.items)
        )
    return _differ(references) or _same_plain(actual, first)


def _same_mapping(actual: Group, references: list[Group]) -> bool:
    found, *others = (
        {digest_of(one.items[0]): one.items[1] for one in group.items if isinstance(one, Group)}
        for group in (actual, *references)
    )
    if any(other.keys() != others[0].keys() for other in others):
        return True
    if found.keys() != others[0].keys() or len(found) != len(actual.items):
        return _same_set(actual, references[0])
    in_order = all(group.kind == "ordered" for group in (actual, *references))
    orders = {tuple(other) for other in others}
    if in_order and len(orders) == 1 and tuple(found) not in orders:
        return False
    return all(
        same_as_reference(value, [other[key] for other in others]) for key, value in found.items()
    )


def _same_set(actual: Group, reference: Group) -> bool:
    if len(actual.items) != len(reference.items):
        return False
    if digest_of(actual) == digest_of(reference):
        return True
    rest = list(actual.items)
    for item in reference.items:
        if len(rest) > _MOST_MATCHED:
            return False
        partner = next((at for at, o in enumerate(rest) if same_as_reference(o, [item])), None)
        if partner is None:
            return False
        del rest[partner]
    return True


def _same_instance(actual: Instance, references: list[Instance]) -> bool:
    first = references[0]
    if first.kind == "mock" or actual.kind == "mock":
        return actual.kind == first.kind
    if first.kind == "exception":
        texts = [each.disclosed("str") or Leaf("none", None) for each in references]
        names = {last_part(name) for name in actual.types}
        text = actual.disclosed("str") or Leaf("none", None)
        return first.name in names and same_as_reference(text, texts)
    if first.kind == "enum" and first.base is None:
        return actual.kind == "enum" and _same_states(actual.public, [r.public for r in references])
    if first.base is not None:
        bases = [reference.base for reference in references if reference.base is not None]
        return actual.base is not None and same_as_reference(actual.base, bases)
    return _same_object(actual, references)


def _same_object(actual: Instance, references: list[Instance]) -> bool:
    first = references[0]
    told = [name for name in _INFORMATIVE if first.disclosed(name) is not None]
    says_same = []
    for name in told:
        said = actual.disclosed(name)
        others = [other for one in references if (other := one.disclosed(name)) is not None]
        if said is not None and same_as_reference(said, others):
            says_same.append(name)
    if any(actual.disclosed(name) for name in told if name not in ("repr", *says_same)):
        return False
    state, states = actual.public, [reference.public for reference in references]
    if not first.public:
        state, states = actual.private, [reference.private for reference in references]
    names = {name for name, _ in states[0]}
    has_names = names <= {name for name, _ in state}
    if names and has_names:
        is_same = _same_states(state, states)
        if is_same or first.public:
            return is_same
    return says_same == told if told else not names and first.name == actual.name


_State = tuple[tuple[str, CanonicalValue], ...]


def _same_states(actual: _State, references: Sequence[_State]) -> bool:
    found = dict(actual)
    others = [dict(reference) for reference in references]
    common = [name for name in others[0] if all(name in other for other in others)]
    return all(
        name in found and same_as_reference(found[name], [other[name] for other in others])
        for name in common
    )
