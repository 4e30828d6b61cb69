"""The tests of a file in another language, and the values that decide them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from tree_sitter import Node

from agentbench.integrity.expectation_changes.other_values import NEAR, Distance
from agentbench.integrity.foreign_expectations.literals import Literal
from agentbench.integrity.foreign_expectations.syntax import ByteEdit, ForeignSource

UNCERTAIN = 3
"""The doubt about a change that correct code may not notice; the reference solution confirms it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedLiteral:
    """A literal that a test expects."""

    literal: Literal
    doubt: int
    """0: a change certainly fails the test. More: the value may be in a branch or an input, too."""
    site: int
    """The first byte of its assertion, so that long lists are not chosen more often."""
    distance: Distance = NEAR
    row: int | None = None
    """The index of its row, if it belongs to one of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A place where a test compares, and the expressions of which one may be expected."""

    node: Node
    candidates: tuple[Node, ...]
    distance: Distance = NEAR
    doubt: int = 0

    def expected(self, literal: Literal, doubt: int, row: int | None = None) -> ExpectedLiteral:
        """A literal of one of the expressions."""
        return ExpectedLiteral(
            literal=literal,
            doubt=doubt,
            site=self.node.start_byte,
            distance=self.distance,
            row=row,
        )

    def of_argument(self, call: Node, argument: Node, doubt: int) -> "Comparison":
        """This comparison in a helper, for the argument of a call that it compares."""
        return Comparison(
            node=call,
            candidates=(argument,),
            distance=self.distance,
            doubt=max(self.doubt, doubt) + 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTest:
    """What decides one test."""

    values: tuple[ExpectedLiteral, ...] = ()
    """Another value of each of them makes the test fail."""
    block: int | None = None
    """Its block, by its first byte, where an assertion can be added; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEnd:
    """Where an assertion can be added, at the end of a test."""

    at: int
    separator: str  # from the statement before it
    tester: str = ""  # the variable of Go's `*testing.T`


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFile:
    """The listed tests of a file."""

    source: ForeignSource
    functions: Mapping[str, tuple[str, ...]]
    """The names of tests, by the function that has them. A change for one test of a function may
    make the others fail, too."""
    tests: Mapping[str, ForeignTest]
    """Each test, by its name."""
    above: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The tests that fail if a test fails, by its name."""
    blocks: Mapping[int, BlockEnd] = field(default_factory=dict)
    """All blocks of tests, by their first byte, also of tests that are not listed."""
    comments: tuple[ByteEdit, ...] = ()
    """Edits that empty the comments that no tool reads."""


class ForeignLanguage(Protocol):
    """A language whose tests can be changed."""

    def read(self, text: str, path: str, names: Sequence[str]) -> ForeignFile:
        """Find tests in a file.

        Args:
            text: The file.
            path: Its path.
            names: The tests, as in node ids.
        """

    def assertion(self, block: BlockEnd, rng: Random, *, fails: bool) -> str:
        """A statement that passes or fails, for the end of a test."""
