"""Chooses other values that look as likely as those of a test."""

import builtins
import math
import re
import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.python_source.constants import Scalar

_FAR = 3000
_MAX_ATTEMPTS = 20
_LITERAL_PATTERN = re.compile(r"\^?((?:[\w\s,:;'\"=<>@!/%&-]|\\[^\w\s])*)\$?")
_ERRORS = (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, GeneratorExit)
_WARNINGS = (UnicodeWarning, BytesWarning, ImportWarning, SyntaxWarning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """The distance of a new value from the old one."""

    relative: float = 0.0
    absolute: float = 0.0
    far: bool = False  # whether no likely collection or text may contain it

    def margin(self, value: float) -> float:
        """The minimum change of a number: above the tolerance, which the old value may use up."""
        return 4 * (self.relative * abs(value) + self.absolute)


NEAR = Distance()
FAR = Distance(far=True)


def other_value(
    value: Scalar, rng: Random, distance: Distance = NEAR, avoid: Collection[object] = ()
) -> Scalar:
    """Another value of the same kind, different from its neighbours in a set."""
    new = _another(value, rng, distance)
    for _ in range(_MAX_ATTEMPTS):
        if new not in avoid and new != value:
            return new
        new = _another(new, rng, distance)
    return _another(value, rng, FAR)


def other_text(text: str, rng: Random, distance: Distance = NEAR) -> str:
    """A text that differs in a character, or in a whole word if it must be far."""
    if distance.far:
        cut = rng.randrange(len(text) + 1) if len(text) > 3 else len(text)
        return text[:cut] + "".join(rng.sample(string.ascii_lowercase, 6)) + text[cut:]
    positions = [at for at, character in enumerate(text) if _alphabet(character)]
    if not positions:
        return text + rng.choice(string.ascii_lowercase)
    at = rng.choice(positions)
    if len(text) > 4 and rng.random() < 0.15:
        return text[:at] + text[at + 1 :]
    others = _alphabet(text[at]).replace(text[at], "")
    return text[:at] + rng.choice(others) + text[at + 1 :]


def other_pattern(pattern: str, rng: Random) -> str | None:
    """A regular expression that certainly does not match the original's texts, or `None`."""
    literal = _LITERAL_PATTERN.fullmatch(pattern)
    if literal is not None and len(literal[1]) > 2:
        text = re.sub(r"\\(.)", r"\1", literal[1])
        new = other_text(pattern, rng)
        if _compiles(new) and re.search(new, text) is None:
            return new
    word = "".join(rng.sample(string.ascii_lowercase, 4))
    new = f"{pattern} {word}"
    return new if "|" not in pattern and "(?" not in pattern and _compiles(new) else None


def other_error(names: Sequence[str], rng: Random) -> str | None:
    """The name of a built-in exception that is neither a base nor a subclass of the named ones.

    `None` for exceptions such as KeyboardInterrupt, which would end the run.
    """
    warning = names[0].endswith("Warning")
    usual: tuple[type[BaseException], ...] = _WARNINGS if warning else _ERRORS
    known = [found for name in names if isinstance(found := getattr(builtins, name, None), type)]
    if any(issubclass(BaseException, one) or not issubclass(one, Exception) for one in known):
        return None
    apart = [o for o in usual if not any(issubclass(o, k) or issubclass(k, o) for k in known)]
    common = [other for other in apart if other is not GeneratorExit] or apart
    return rng.choice(common).__name__ if common else None


def _another(value: Scalar, rng: Random, distance: Distance) -> Scalar:
    match value:
        case bool():
            return not value
        case None:
            return rng.choice((True, False))
        case str():
            return other_text(value, rng, distance)
        case bytes():
            return other_text(value.decode("latin-1"), rng, distance).encode("latin-1")
        case _:
            return _number(value, rng, distance)


def _number(value: complex, rng: Random, distance: Distance) -> complex:
    if isinstance(value, int):
        least = 1
        if distance.far:
            least += rng.randrange(_FAR, 3 * _FAR)
        elif distance.relative or distance.absolute:
            least += int(distance.margin(value))
        elif abs(value) >= 100 and rng.random() < 0.5:
            digits = int(abs(value).bit_length() * math.log10(2))  # str() refuses huge numbers
            return value + rng.choice((-1, 1)) * int(10 ** rng.randrange(digits - 1))
        step = least + rng.randrange(3)
        return value + (-step if value > step and rng.random() < 0.5 else step)
    if isinstance(value, float):
        return _real(value, rng, distance)
    return value + rng.choice((1, 2, -1, 1j, 2j))


def _real(value: float, rng: Random, distance: Distance) -> float:
    margin = distance.margin(value) + (rng.randrange(_FAR, 3 * _FAR) if distance.far else 0)
    for scale in (1.0, abs(value)):  # adding 1 does not change a very large number
        step = 2 * margin + rng.choice((0.25, 0.5, 1.0, 1.5, 2.0)) * scale
        new = value - step if value > step and rng.random() < 0.5 else value + step
        if math.isfinite(new) and abs(new - value) > margin:
            return new
    return 1.5


def _alphabet(character: str) -> str:
    for alphabet in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if character in alphabet:
            return alphabet
    return ""


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
