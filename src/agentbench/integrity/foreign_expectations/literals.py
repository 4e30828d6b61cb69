"""Literals of Go and JavaScript, and other ones that look alike.

Only the text of a value is replaced: quotes, signs and escapes stay, so that a changed literal
cannot be told from an unchanged one.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from agentbench.integrity.expectation_changes.other_values import (
    NEAR,
    Distance,
    other_pattern,
    other_text,
    other_value,
)
from agentbench.integrity.foreign_expectations.syntax import line_of, text_of
from agentbench.integrity.records import ValueKind

Value = str | int | float | bool

_MOST_TRIES = 30
# What may not be split or changed in a text: escapes, and verbs, which `go vet` checks.
_WHOLE = re.compile(
    r"""(\\(?:u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-7]{1,3}
    |\r\n|[\s\S])|%[-+\#\ 0-9.*\[\]]*[A-Za-z%]|\$\{)""",
    re.VERBOSE,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
# A constant beyond the largest number of its type does not compile.
_LARGEST = [(1 << bits) - 1 for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64)]
_ERRORS = ("TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewText:
    """The new text of a literal, and its value."""

    text: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A literal in a file; `start` and `end` are the bytes of its value's text, without quotes."""

    start: int
    end: int
    line: int
    kind: ValueKind
    text: str
    value: Value
    is_raw: bool = False  # whether a backslash is an ordinary character in it
    suffix: str = ""  # of a number, such as the `n` of JavaScript

    @property
    def display(self) -> str:
        """The value for people."""
        return displayed(self.value)

    def changed(self, rng: Random, distance: Distance = NEAR) -> NewText | None:
        """Another value of the same kind; None if none certainly differs."""
        match self.kind:
            case ValueKind.TRUTH:
                new = not self.value
                return NewText(text=str(new).lower(), value=new)
            case ValueKind.NUMBER:
                return self._other_number(rng, distance)
            case ValueKind.ERROR:
                name = rng.choice([one for one in _ERRORS if one != self.text])
                return NewText(text=name, value=name)
            case ValueKind.PATTERN:
                found = other_pattern(self.text, rng)
                return None if found is None else NewText(text=found, value=found)
            case _:
                return self._other_text(rng, distance)

    def _other_number(self, rng: Random, distance: Distance) -> NewText | None:
        old = self.value
        assert isinstance(old, int | float)
        for _ in range(_MOST_TRIES):
            new = other_value(old, rng, distance)
            if not isinstance(new, int | float) or new < 0 or float(new) == float(old):
                continue
            if isinstance(new, int) and any(old <= largest < new for largest in _LARGEST):
                continue
            return NewText(text=_written(new, self.text) + self.suffix, value=new)
        return None

    def _other_text(self, rng: Random, distance: Distance) -> NewText | None:
        # Every second piece is one that stays.
        pieces = [self.text] if self.is_raw else _WHOLE.split(self.text)
        plain = range(0, len(pieces), 2)
        filled = [at for at in plain if re.search("[A-Za-z0-9]", pieces[at])]
        if filled:
            at = rng.choices(filled, weights=[len(pieces[one]) for one in filled])[0]
        else:
            at = plain[-1]
        pieces[at] = other_text(pieces[at], rng, distance)
        text = "".join(pieces)
        return NewText(text=text, value=text if self.is_raw else _decoded(text))


def two_values(rng: Random, *, differ: bool) -> tuple[int | str, int | str]:
    """Two values for an assertion that is added to a test."""
    value = rng.choice((rng.randrange(1, 40), "".join(rng.sample("aeilnorst", 5))))
    other = other_value(value, rng) if differ else value
    assert isinstance(other, int | str)
    return value, other


def telling(found: Iterable[Literal]) -> list[Literal]:
    """The literals of an expression; truths only if there is nothing else."""
    every = list(found)
    return [literal for literal in every if literal.kind is not ValueKind.TRUTH] or every


def displayed(value: Value) -> str:
    """A value as both languages write it."""
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)


def number(node: Node) -> Literal | None:
    """A number; None if it is imaginary or has no exact value."""
    text = text_of(node)
    suffix = "n" if text.endswith("n") else ""
    plain = text.removesuffix("n").replace("_", "").lower()
    try:
        value: int | float = int(plain, 8 if re.fullmatch(r"0[0-7]+", plain) else 0)
    except ValueError:
        try:
            value = float(plain)
        except ValueError:
            return None
        if not math.isfinite(value):
            return None
    return Literal(
        start=node.start_byte,
        end=node.end_byte,
        line=line_of(node),
        kind=ValueKind.NUMBER,
        text=text.removesuffix("n"),
        value=value,
        suffix=suffix,
    )


def truth(node: Node) -> Literal:
    """`true` or `false`."""
    text = text_of(node)
    return _whole(node, ValueKind.TRUTH, text == "true")


def error_name(node: Node) -> Literal | None:
    """The name of a built-in error; None if it is another one, or the base of all."""
    text = text_of(node)
    return _whole(node, ValueKind.ERROR, text) if text in _ERRORS else None


def pattern(node: Node) -> Literal:
    """The text of a regular expression."""
    return _whole(node, ValueKind.PATTERN, text_of(node))


def quoted(node: Node, *, is_raw: bool = False) -> Literal:
    """A text between quotes of one character each."""
    return _text(node, node.start_byte + 1, text_of(node)[1:-1], is_raw=is_raw)


def bare(node: Node, skipped: int = 0) -> Literal:
    """A text without quotes, such as a part of a template.

    Args:
        node: The text.
        skipped: The number of characters before it, all of them ASCII.
    """
    return _text(node, node.start_byte + skipped, text_of(node)[skipped:], is_raw=False)


def _text(node: Node, start: int, text: str, *, is_raw: bool) -> Literal:
    return Literal(
        start=start,
        end=start + len(text.encode("utf-8", "surrogateescape")),
        line=line_of(node),
        kind=ValueKind.TEXT,
        text=text,
        value=text if is_raw else _decoded(text),
        is_raw=is_raw,
    )


def _whole(node: Node, kind: ValueKind, value: Value) -> Literal:
    return Literal(
        start=node.start_byte,
        end=node.end_byte,
        line=line_of(node),
        kind=kind,
        text=text_of(node),
        value=value,
    )


# A number in the base and the case of an old one.
def _written(new: int | float, old: str) -> str:
    prefix = old[:2].lower()
    if isinstance(new, float) or prefix not in {"0x", "0b", "0o"}:
        return repr(new)
    digits = format(new, prefix[1]).rjust(len(old) - 2, "0")
    return old[:2] + (digits.upper() if re.search("[A-F]", old[2:]) else digits)


# The value of a text with common escapes. Others stay as they are: the value is only for people,
# and to find it elsewhere.
def _decoded(text: str) -> str:
    return re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|([\s\S]))",
        lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]),
        text,
    )
