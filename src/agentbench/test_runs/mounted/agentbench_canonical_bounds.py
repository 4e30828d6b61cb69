"""Bounds of canonical forms: a part that is too large becomes a digest, equal for equal values.

Digests are those of a tree of hashes, so that a form with digests in it has the same digest as the
whole form. Values that Python calls equal have equal digests: 1 and 1.0, a list in a subclass.
Standard library only; Python 3.6 to 3.14.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from typing import Any, TypeAlias

    Form: TypeAlias = "list[Any]"

MOST_NODES = 20000
MOST_BYTES = 256 * 1024
DEEPEST = 12
NUMBERS = ("bool", "int", "float", "complex", "decimal", "fraction")
UNORDERED = ("set", "frozenset", "keys", "dict", "ordered")
_SEQUENCES = ("list", "tuple", "deque")
_SINGLE = ("none", "bool", "int", "float", "complex", "str", "wide", "bytes", "bytearray")
_SAME_KIND = {"frozenset": "set", "keys": "set", "ordered": "dict", "bytearray": "bytes"}


def digest(form: "Form") -> str:
    """The digest of the value that a form describes."""
    kind = str(form[0])
    same_kind = _SAME_KIND.get(kind, kind)
    if kind == "digest":
        return str(form[1])
    if kind in NUMBERS:
        return _hash("number", _number(form))
    if kind in ("str", "wide"):
        data = bytes.fromhex(form[1]) if kind == "wide" else form[1].encode("utf-8")
        return _hash("str", data.hex())
    if kind == "object":
        return _digest_of_object(form)
    if kind in _SINGLE or kind in ("back", "cut"):
        return _hash(same_kind, *map(str, form[1:]))
    digests = [digest(part) for part in form[1:] if part[0] != "rest"]
    if kind in UNORDERED:
        return _hash(same_kind, *sorted(digests))
    tail = form[-1][1] if len(form) > 1 and form[-1][0] == "rest" else _hash("end")
    return _hash(kind, _chain(digests, tail)[0])


def bounded(form: "Form", share: int = 1) -> "tuple[Form, int]":
    """A form within the bounds, and about how many bytes it takes.

    Args:
        form: the form of a whole value.
        share: how many values share the bounds.
    """
    nodes, size, depth = _measure(form)
    if nodes <= MOST_NODES // share and size <= MOST_BYTES // share and depth <= DEEPEST:
        return form, size
    limits = _Limits(MOST_NODES // share, MOST_BYTES // share)
    return limits.cut(form, 1), MOST_BYTES // share - limits.size


class _Limits:
    """What the rest of a form may take."""

    def __init__(self, nodes: int, size: int) -> None:
        self.nodes, self.size = nodes, size

    def cut(self, form: "Form", depth: int) -> "Form":
        if form[0] in _SINGLE:
            return form if self._take(_size(form)) else _digest_form(form)
        if depth > DEEPEST or not self._take(16):
            return _digest_form(form)
        if form[0] == "object":
            base, public, private, said = form[3:]
            base = base and self.cut(base, depth + 1)
            states = [
                [[n, self.cut(part, depth + 1)] for n, part in ps] for ps in (public, private)
            ]
            says = {name: self.cut(said[name], depth + 1) for name in sorted(said)}
            return [*form[:3], base, *states, says]
        if form[0] in _SEQUENCES:
            return self._cut_sequence(form, depth)
        nodes, size, deepest = _measure(form)
        if nodes > self.nodes or size > self.size or depth + deepest > DEEPEST:
            return self._cut_mapping(form, depth) or _digest_form(form)
        self._take(size, nodes)
        return form

    def _cut_mapping(self, form: "Form", depth: int) -> "Form | None":
        # The keys stay, and what fits of the values; None if the keys do not fit.
        if form[0] not in ("dict", "ordered") or any(part[0] != "pair" for part in form[1:]):
            return None
        nodes, size, deepest = _measure(["list", *(key for _, key, _ in form[1:])])
        nodes, size = nodes + 2 * len(form), size + 200 * len(form)  # each value may be a digest
        if nodes > self.nodes or size > self.size or depth + deepest >= DEEPEST:
            return None
        self._take(size, nodes)
        pairs = form[1:]  # type: list[Form]
        return [form[0], *(["pair", key, self.cut(part, depth + 2)] for _, key, part in pairs)]

    def _cut_sequence(self, form: "Form", depth: int) -> "Form":
        parts = []  # type: list[Form]
        for place in range(1, len(form)):
            if self.nodes <= 0 or self.size <= 0:
                tail = _chain([digest(part) for part in form[place:]], _hash("end"))[0]
                return [form[0], *parts, ["rest", tail, len(form) - place]]
            parts.append(self.cut(form[place], depth + 1))
        return [form[0], *parts]

    def _take(self, size: int, nodes: int = 1) -> bool:
        fits = nodes <= self.nodes and size <= self.size
        self.nodes -= nodes
        self.size -= size if fits else 100  # a digest
        return fits


def _digest_form(form: "Form") -> "Form":
    return (
        form
        if form[0] in ("digest", "cut", "back")
        else ["digest", digest(form), _measure(form)[0]]
    )


def parts_of(form: "Form") -> "Iterator[Form]":
    """The forms that a form consists of."""
    if form[0] == "object":
        yield from filter(None, [form[3]])
        for _name, part in (*form[4], *form[5], *form[6].items()):
            yield part
    elif form[0] not in (*_SINGLE, "back", "cut", "digest", "rest"):
        yield from form[1:]


def _measure(form: "Form") -> "tuple[int, int, int]":
    nodes, size, depth = 1, _size(form), 0
    for part in parts_of(form):
        inner_nodes, inner_size, inner_depth = _measure(part)
        nodes, size, depth = nodes + inner_nodes, size + inner_size, max(depth, inner_depth)
    return nodes, size, depth + 1


def _size(form: "Form") -> int:
    if form[0] == "object":
        names = [*form[2], *(name for name, _ in (*form[4], *form[5]))]
        return 64 + sum(len(name) + 6 for name in names)
    if form[0] == "str":  # JSON escapes characters
        return 16 + len(form[1].encode("ascii", "backslashreplace"))
    return 16 + sum(len(part) for part in form[1:] if isinstance(part, str))


def _chain(digests: "list[str]", tail: str) -> "list[str]":
    rests = [tail]
    for each in reversed(digests):
        rests.append(_hash(each, rests[-1]))
    return rests[::-1]


def _digest_of_object(form: "Form") -> str:
    _, kind, names, base, public, private, disclosures = form
    if base is not None and kind != "enum":
        return digest(base)
    state = [_hash(name, digest(part)) for name, part in (*public, *private)]
    said = [_hash(name, digest(disclosures[name])) for name in sorted(disclosures)]
    return _hash("object", kind, names[0] if names else "", *sorted(state), "says", *said)


def _number(form: "Form") -> str:
    # Python calls numbers of different types equal, so they have the same text.
    from fractions import Fraction  # it takes a while, and few runs have such large values

    kind = form[0]
    if kind == "complex":
        real, imaginary = ["float", form[1]], ["float", form[2]]
        is_real = float.fromhex(form[2]) == 0
        return _number(real) if is_real else f"{_number(real)} {_number(imaginary)}i"
    if kind == "float":
        number = float.fromhex(form[1])
        is_finite = number - number == 0
        return _ratio(Fraction(number)) if is_finite else str(number)
    if kind == "decimal":
        text = form[1][1]
        has_small_exponent = len(text.upper().partition("E")[2]) < 6
        is_number = text[-1:].isdigit() and "NaN" not in text  # which may have digits
        return _ratio(Fraction(text)) if is_number and has_small_exponent else text
    if kind == "fraction":
        return _ratio(Fraction(int(form[1][1], 16), int(form[2][1], 16)))
    return _ratio(Fraction(int(form[1]) if kind == "bool" else int(form[1], 16)))


def _ratio(number: "Fraction") -> str:
    return f"{number.numerator:x}/{number.denominator:x}"


def _hash(*parts: str) -> str:
    from hashlib import sha256  # like Fraction: few runs need it

    return sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
