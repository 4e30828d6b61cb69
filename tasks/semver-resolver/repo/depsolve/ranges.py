"""Ranges over versions: comparators, carets, tildes, wildcards and alternatives."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from depsolve.version import InvalidVersion, Version

_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_TERM = re.compile(r"(?P<op>>=|<=|>|<|=|\^|~)?\s*(?P<version>[0-9xX*][^\s]*)")
_WILD = {"x", "X", "*"}


class InvalidRange(ValueError):
    """A text that is no range."""


@dataclass(frozen=True)
class Comparator:
    """One bound, such as ``>=1.2.0``."""

    op: str
    version: Version

    def admits(self, candidate: Version) -> bool:
        """Whether the candidate is on the right side of the bound."""
        return _OPERATORS[self.op](candidate, self.version)

    def __str__(self) -> str:
        return f"{self.op}{self.version}"


@dataclass(frozen=True)
class Range:
    """Alternatives, each of which is a list of bounds that must all hold."""

    text: str
    alternatives: tuple[tuple[Comparator, ...], ...]

    @classmethod
    def parse(cls, text: str) -> "Range":
        """Read a range such as ``^1.2 || >=3.0.0-rc.1 <4``.

        Raises:
            InvalidRange: A part of the text is neither a bound nor a version.
        """
        return cls(text, tuple(_parse_alternative(part) for part in text.split("||")))

    def admits(self, candidate: Version) -> bool:
        """Whether the candidate satisfies one of the alternatives."""
        return any(_admitted(candidate, bounds) for bounds in self.alternatives)

    def __str__(self) -> str:
        return self.text


def _admitted(candidate: Version, bounds: tuple[Comparator, ...]) -> bool:
    if not all(bound.admits(candidate) for bound in bounds):
        return False
    if not candidate.is_prerelease:
        return True
    return any(
        bound.version.is_prerelease and bound.version.release == candidate.release
        for bound in bounds
    )


def _parse_alternative(text: str) -> tuple[Comparator, ...]:
    bounds: list[Comparator] = []
    at = 0
    text = text.strip()
    if not text:
        raise InvalidRange("an empty range; write * for any version")
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None:
            raise InvalidRange(f"cannot read {text[at:]!r} in range {text!r}")
        bounds.extend(_expand(found["op"] or "", found["version"]))
        at = found.end()
        while at < len(text) and text[at] in " ,\t":
            at += 1
    return tuple(bounds)


def _expand(op: str, text: str) -> list[Comparator]:
    """Turn one written term into bounds."""
    low, given = _partial(text)
    if op == "^" and given:
        return [Comparator(">=", low), Comparator("<", _caret_limit(low, given))]
    if op in ("^", "~"):
        return _between(low, min(given, 2))
    if op:
        return [Comparator(op, low)]
    if given == 3:
        return [Comparator("=", low)]
    return _between(low, given)


def _between(low: Version, kept: int) -> list[Comparator]:
    """Bounds that hold the first `kept` numbers of `low` fixed."""
    bounds = [Comparator(">=", low)]
    if kept:
        bounds.append(Comparator("<", _bump(low, kept - 1)))
    return bounds


def _caret_limit(low: Version, given: int) -> Version:
    """The first version that may break what `low` offers: its leftmost non-zero number moves."""
    for place, number in enumerate(low.release[:given]):
        if number:
            return _bump(low, place)
    return _bump(low, given - 1)


def _bump(low: Version, place: int) -> Version:
    numbers = list(low.release[:place]) + [low.release[place] + 1]
    numbers += [0] * (3 - len(numbers))
    return Version(*numbers)


def _partial(text: str) -> tuple[Version, int]:
    """Read a version that may lack parts; also say how many numbers were written."""
    core, mark, tail = text.partition("+")[0].partition("-")
    numbers: list[str] = []
    for part in core.split("."):
        if part in _WILD:
            break
        numbers.append(part)
    if len(numbers) < 3 and mark:
        raise InvalidRange(f"a pre-release needs all three numbers: {text!r}")
    full = ".".join(numbers + ["0"] * (3 - len(numbers))) + mark + tail
    try:
        return Version.parse(full), len(numbers)
    except InvalidVersion as error:
        raise InvalidRange(f"cannot read version {text!r} in a range") from error
