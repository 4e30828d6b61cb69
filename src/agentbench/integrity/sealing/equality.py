"""Compares recorded values with expected ones, as Python's `==` compares honest values."""

import cmath
from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Digest,
    Group,
    Instance,
    Leaf,
    Unreadable,
    digest_of,
    value_text,
)
from agentbench.integrity.sealing.expected_trees import (
    Anything,
    Approximate,
    Constructed,
    Container,
    EnumMember,
    Known,
    Side,
    Unknown,
)
from agentbench.integrity.sealing.plain_values import (
    MAPPINGS,
    SEQUENCES,
    SETS,
    NotPlainError,
    like,
    to_python,
)

_RELATIVE, _ABSOLUTE = 1e-6, 1e-12  # pytest.approx's own
_MOST_MATCHED = 100  # members without order that are matched one by one
_ERRORS = (ValueError, TypeError, ArithmeticError)


class Agreement(StrEnum):
    """Whether a recorded value agrees with the expected one."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, holds: object) -> "Agreement":
        return cls.YES if holds else cls.NO

    def inverted(self) -> "Agreement":
        return {Agreement.YES: Agreement.NO, Agreement.NO: Agreement.YES}.get(self, self)


def every(agreements: Iterable[Agreement]) -> Agreement:
    """NO if one is NO, else UNKNOWN if one is, else YES."""
    found = Agreement.YES
    for agreement in agreements:
        if agreement is Agreement.NO:
            return agreement
        if agreement is Agreement.UNKNOWN:
            found = agreement
    return found


def equal(actual: CanonicalValue, expected: Side) -> Agreement:
    """Whether a recorded value is equal to an expected one."""
    match expected:
        case Known(value=value):
            return _equal_values(actual, value)
        case Anything():
            return Agreement.of(not isinstance(actual, Unreadable))
        case Unknown():
            return Agreement.UNKNOWN
        case Container():
            return _equal_container(actual, expected)
        case Constructed():
            return _equal_constructed(actual, expected)
        case EnumMember(class_name=class_name, name=name):
            if not (isinstance(actual, Instance) and actual.kind == "enum"):
                return Agreement.UNKNOWN
            has_name = dict(actual.public).get("name") == Leaf("str", name)
            return Agreement.of(has_name) if actual.name == class_name else Agreement.UNKNOWN
        case Approximate():
            return _close(actual, expected.tree, expected)
        case _:
            return _equal_values(actual, expected)


def _equal_values(left: CanonicalValue, right: CanonicalValue) -> Agreement:
    match left, right:
        case (Unreadable(), _) | (_, Unreadable()):
            return Agreement.NO
        case (Group(kind="token"), _) | (_, Group(kind="token")):
            return Agreement.UNKNOWN
        case (Digest(), _) | (_, Digest()):
            return Agreement.of(digest_of(left) == digest_of(right))
        case Instance(), Instance():
            return _equal_instances(left, right)
        case (Instance() as own, other) | (other, Instance() as own):
            same_type = like(own, other)
            is_certain = isinstance(other, Leaf) and other.kind == "none"
            if same_type is None:
                return Agreement.NO if is_certain else Agreement.UNKNOWN
            return _equal_values(same_type, other)
        case Group(), Group():
            return _equal_groups(left, right)
        case _:
            return _equal_plain(left, right)


def _equal_plain(left: CanonicalValue, right: CanonicalValue) -> Agreement:
    try:
        return Agreement.of(to_python(left) == to_python(right))
    except NotPlainError:
        return Agreement.of(left == right)
    except _ERRORS:  # a signalling NaN
        return Agreement.NO


def _equal_groups(left: Group, right: Group) -> Agreement:
    kinds = left.kind, right.kind
    if left.rest is not None or right.rest is not None:
        return Agreement.of(digest_of(left) == digest_of(right))
    if all(kind in SETS for kind in kinds) or (
        all(kind in MAPPINGS for kind in kinds) and kinds != ("ordered", "ordered")
    ):
        return _equal_unordered(left.items, right.items)
    if "call" in kinds:
        return _equal_calls(left.items, right.items)
    if left.kind in (*SEQUENCES, "ordered"):
        return _equal_sequences(left.items, right.items) if kinds[0] == kinds[1] else Agreement.NO
    if left.kind == "function" and left == right:
        is_local = any(isinstance(i, Leaf) and "<" in value_text(i) for i in left.items)  # <lambda>
        return Agreement.UNKNOWN if is_local else Agreement.YES
    return _equal_plain(left, right)


def _equal_sequences(left: tuple[CanonicalValue, ...], right: tuple[Side, ...]) -> Agreement:
    if len(left) != len(right):
        return Agreement.NO
    return every(map(equal, left, right))


# Compare calls of a mock: its attributes' names, positional arguments, and keywords. A mock with a
# signature accepts a keyword instead of a position. The final test decides about that, so the
# values are enough here.
def _equal_calls(left: tuple[CanonicalValue, ...], right: tuple[Side, ...]) -> Agreement:
    found = _equal_sequences(left, right)
    if found is not Agreement.NO or len(left) != len(right) or len(left) < 2:
        return found
    parts, others = ([_items(part) for part in call[-2:]] for call in (left, right))
    if len(parts[0]) == len(others[0]) or Agreement.NO in map(equal, left[:-2], right[:-2]):
        return Agreement.NO
    values, expected = ([*map(_argument, (*args, *pairs))] for args, pairs in (parts, others))
    return matched(values, expected) if len(values) == len(expected) else Agreement.NO


def _items(side: Side) -> Sequence[Side]:
    whole = side.value if isinstance(side, Known) else side
    return whole.items if isinstance(whole, Group | Container) else ()


def _argument(item: Side) -> Side:
    return item.items[1] if isinstance(item, Group | Container) and item.kind == "pair" else item


def _equal_unordered(left: tuple[CanonicalValue, ...], right: tuple[Side, ...]) -> Agreement:
    if len(left) != len(right):
        return Agreement.NO
    by_key: dict[str, CanonicalValue] = {_key(item): item for item in left}
    unmatched = []
    agreements = []
    for item in right:
        partner = by_key.pop(key, None) if (key := _key(item)) else None
        if partner is None:
            unmatched.append(item)
        else:
            agreements.append(equal(partner, item))
    rest = list(by_key.values())
    if len(rest) != len(unmatched):  # some members are there twice
        return Agreement.NO
    if rest and all(map(_is_plain, rest)) and all(map(_is_plain, unmatched)):
        return Agreement.NO  # equal values have equal digests
    if len(rest) > _MOST_MATCHED:
        return Agreement.UNKNOWN
    return every((*agreements, matched(rest, unmatched)))


def matched(values: Sequence[Side], others: Iterable[Side]) -> Agreement:
    """Match each of the others with an equal value, of which some may be left over."""
    rest, agreements = [*values], []
    for item in others:
        found = [equal_sides(one, item) for one in rest]
        if Agreement.YES in found:
            del rest[found.index(Agreement.YES)]
        else:
            agreements.append(Agreement.UNKNOWN if Agreement.UNKNOWN in found else Agreement.NO)
    return every(agreements)


def equal_sides(left: Side, right: Side) -> Agreement:
    """Whether two sides are equal; UNKNOWN if neither was recorded."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, CanonicalValue):
            return equal(one, other)
    return Agreement.UNKNOWN


# The digest of a member, or of a pair's key; "" if it is not known.
def _key(item: Side) -> str:
    match item:
        case Group(kind="pair", items=(key, _)) | Container(kind="pair", items=(key, _)):
            return _key(key)
        case Known(value=value):
            return digest_of(value)
        case Leaf() | Group() | Instance() | Digest():
            return digest_of(item)
        case _:
            return ""


def _equal_instances(left: Instance, right: Instance) -> Agreement:
    if left.kind == right.kind == "enum":
        is_same = (left.name, left.public) == (right.name, right.public)
        if is_same or None in (left.base, right.base):
            return Agreement.of(is_same)
    if left.base is not None or right.base is not None:
        first = left if left.base is None else left.base
        second = right if right.base is None else right.base
        return _equal_values(first, second)
    if left.kind == right.kind == "dataclass" and left.types[:1] == right.types[:1]:
        if [name for name, _ in left.public] != [name for name, _ in right.public]:
            return Agreement.NO
        states = zip(left.public, right.public, strict=True)
        return every(_equal_values(one, other) for (_, one), (_, other) in states)
    if left.kind == right.kind == "array":
        items, others = left.disclosed("list"), right.disclosed("list")
        if items is not None and others is not None:
            return _equal_values(items, others)
    return Agreement.UNKNOWN


def _equal_container(actual: CanonicalValue, expected: Container) -> Agreement:
    if isinstance(actual, Instance):
        found = like(actual, expected)
        return Agreement.UNKNOWN if found is None else _equal_container(found, expected)
    if not isinstance(actual, Group):
        return Agreement.UNKNOWN if isinstance(actual, Digest) else Agreement.NO
    if actual.kind == "token" or actual.rest is not None:
        return Agreement.UNKNOWN
    families = (SETS, MAPPINGS, (expected.kind,))
    family = next(family for family in families if expected.kind in family)
    if (actual.kind, expected.kind) == ("call", "tuple"):
        return _equal_calls(actual.items, expected.items)
    if actual.kind not in family:
        return Agreement.NO
    if expected.kind in (*SETS, *MAPPINGS):
        return _equal_unordered(actual.items, expected.items)
    return _equal_sequences(actual.items, expected.items)


def _equal_constructed(actual: CanonicalValue, expected: Constructed) -> Agreement:
    match actual:
        case Group(kind="call", items=(*names, Group() as args, Group() as pairs)):
            parts = [name.value if isinstance(name, Leaf) else None for name in names]
            if expected.name.split(".", 1) != ["call", *parts]:
                is_call = expected.name.partition(".")[0] == "call"
                return Agreement.NO if is_call else Agreement.UNKNOWN
            keywords = tuple(
                Container("pair", (Known(Leaf("str", name)), tree))
                for name, tree in expected.keywords
            )
            arguments = (Container("tuple", expected.positional), Container("dict", keywords))
            return _equal_calls((args, pairs), arguments)
        case Instance() if actual.name == expected.name:
            return _equal_fields(actual, expected)
        case Unreadable():
            return Agreement.NO
        case _:
            return Agreement.UNKNOWN


def _equal_fields(actual: Instance, expected: Constructed) -> Agreement:
    is_record = actual.kind in ("dataclass", "namedtuple")
    state = dict(actual.public)
    given = dict(expected.keywords)
    if expected.positional:
        if not is_record or len(expected.positional) > len(state):
            return Agreement.UNKNOWN
        given |= dict(zip(state, expected.positional, strict=False))
    if any(name not in state for name in given):
        return Agreement.UNKNOWN
    found = every(equal(state[name], tree) for name, tree in given.items())
    if found is Agreement.NO:  # a class of another kind may convert its arguments
        return Agreement.NO if is_record else Agreement.UNKNOWN
    return found if len(given) == len(state) > 0 else Agreement.UNKNOWN


def _close(actual: CanonicalValue, tree: Side, tolerance: Approximate) -> Agreement:
    expected = tree.value if isinstance(tree, Known) else tree
    if isinstance(expected, Unknown):
        return Agreement.UNKNOWN
    if isinstance(expected, Group | Container) and expected.kind in (*SEQUENCES, *MAPPINGS):
        found = like(actual, expected) if isinstance(actual, Instance) else actual
        if not isinstance(found, Group):
            return Agreement.UNKNOWN if found is None else Agreement.NO
        return _close_containers(found, expected, tolerance)
    number = like(actual, Leaf("float", 0.0)) if isinstance(actual, Instance) else actual
    one, other = _number(number), _number(expected)
    if one is None or other is None:
        return equal(actual, expected)
    if one == other:
        return Agreement.YES
    if one != one or other != other:
        return Agreement.of(tolerance.nan_ok and one != one and other != other)
    if not (cmath.isfinite(one) and cmath.isfinite(other)):
        return Agreement.NO
    allowed = _ABSOLUTE if tolerance.abs is None else tolerance.abs
    try:
        if tolerance.abs is None or tolerance.rel is not None:
            relative = _RELATIVE if tolerance.rel is None else tolerance.rel
            allowed = max(allowed, relative * abs(other))
        return Agreement.of(abs(other - one) <= allowed)
    except OverflowError:  # of a huge complex number
        return Agreement.NO


def _number(value: Side | None) -> complex | None:
    if not isinstance(value, Leaf | Group | Instance):
        return None
    try:
        found = to_python(value)
        if isinstance(found, Decimal | Fraction | int) and not isinstance(found, bool):
            return float(found)
    except (ValueError, OverflowError):  # not plain, a signalling NaN, too large
        return None
    return found if isinstance(found, float | complex) else None


def _close_containers(
    actual: Group, expected: Group | Container, tolerance: Approximate
) -> Agreement:
    if len(actual.items) != len(expected.items) or actual.rest is not None:
        return Agreement.NO
    if expected.kind not in MAPPINGS:
        return every(
            _close(one, other, tolerance)
            for one, other in zip(actual.items, expected.items, strict=True)
        )
    by_key = {_key(item): item for item in actual.items}
    found = [Agreement.YES]
    for item in expected.items:
        match by_key.get(_key(item)), item:
            case Group(items=(_, one)), Group(items=(_, other)) | Container(items=(_, other)):
                found.append(_close(one, other, tolerance))
            case _:
                found.append(Agreement.NO if _key(item) else Agreement.UNKNOWN)
    return every(found)


def _is_plain(value: Side) -> bool:
    try:
        to_python(value)
    except NotPlainError:
        return False
    return True
