"""The checks of recordings on the host: the assertions of a sealed test, as data."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Recorded:
    """An operand that the sealed test records, by its position among the recorded values."""

    index: int


@dataclass(frozen=True, slots=True)
class Removed:
    """An operand that was taken out of the test."""

    node: ast.expr
    named: tuple[tuple[str, int], ...] = ()
    """The names in it with several values, and the position of each name's token in the record."""


Operand: TypeAlias = Recorded | Removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A chain of comparisons."""

    operands: tuple[Operand, ...]
    ops: tuple[type[ast.cmpop], ...]
    negated: bool = False
    unordered: bool = False  # the elements may have any order
    is_computed: bool = False  # code that may be under test computes the expected value


@dataclass(frozen=True, slots=True, kw_only=True)
class Truthiness:
    """A condition of a single value."""

    index: int
    negated: bool = False
    is_likely: bool = False  # whether most code gives this value, so that it proves nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """A text that a regular expression must match somewhere."""

    index: int
    pattern: Operand
    negated: bool = False


class LineOrder(StrEnum):
    """The positions that lines must have that match a sequence of patterns."""

    AS_GIVEN = "as given"
    CONSECUTIVE = "consecutive"
    ANY = "any"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMatch:
    """Lines of an output that patterns must match, as pytest's LineMatcher does it."""

    index: int
    patterns: Removed  # a list of texts, or a text with a pattern in each line
    order: LineOrder
    is_regex: bool = False  # otherwise a pattern of fnmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The recorded status and text of a page, which `assertContains` of Django compares."""

    status: Removed
    text: Removed
    count: Removed | None = None  # how often the page has the text; None: at least once
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An expected exception, or an expected warning."""

    types: Operand | None
    pattern: Operand | None = None
    is_message: bool = False  # the pattern is a part of the text instead
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """A check of every element of recorded lists."""

    check: "Check"


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeReference:
    """An assertion that the host cannot evaluate; its values must equal the reference's."""

    indices: tuple[int, ...]
    is_equality: bool = False  # whether its name says that values must be equal


Check: TypeAlias = (
    Comparison | Truthiness | TextMatch | LineMatch | PageText | Raised | Each | LikeReference
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One assertion of a sealed file."""

    number: int
    function: str  # the function that contains it, as in a node id without the file
    line: int
    text: str  # the source of the assertion in the test
    check: Check
    is_certain: bool = False  # whether every passing run of its function reaches it
    may_relax: bool = False  # whether the code under test may evaluate the condition itself
    pair: "PairedCheck | None" = None
    """For two computed sides: the check without the side that looks expected."""
    unsealed: str | None = None  # why it does not control the code under test

    @property
    def removed(self) -> Iterator[Removed]:
        yield from removed_operands(self.check)

    @property
    def is_visible(self) -> bool:
        """Whether what it expects stays in the test, where code under test can read it.

        In `assert is_equal(f(x), 61) is True`, taking out the truth hides nothing.
        """
        if isinstance(self.check, Raised):
            return False
        nodes = [one.node for one in self.removed]
        return all(isinstance(n, ast.Constant) and isinstance(n.value, bool) for n in nodes)


def removed_operands(check: Check) -> Iterator[Removed]:
    """The operands of a check that were taken out of the test."""
    match check:
        case Comparison(operands=operands):
            yield from (one for one in operands if isinstance(one, Removed))
        case TextMatch(pattern=Removed() as pattern):
            yield pattern
        case LineMatch(patterns=patterns):
            yield patterns
        case PageText(status=status, text=text, count=count):
            yield from (status, text) if count is None else (status, text, count)
        case Raised(types=types, pattern=pattern):
            yield from (one for one in (types, pattern) if isinstance(one, Removed))
        case Each(check=inner):
            yield from removed_operands(inner)
        case _:
            pass


def token_places(removed: Iterable[Removed]) -> set[int]:
    """The positions of recorded values that only identify an expected value."""
    return {at for one in removed for _, at in one.named}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCheck:
    """A check with the expressions that the sealed test records for it."""

    check: Check
    recorded: tuple[ast.expr, ...] = field(default_factory=tuple)
    condition: ast.Compare | None = None  # the code under test may evaluate this instead
    paired: "PairedCheck | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedCheck:
    """A check of two computed sides without the expected one."""

    expected: int  # the position of the side that is taken out
    is_known: bool  # it uses no function and no value that the agent may have to write
    check: SealedCheck
