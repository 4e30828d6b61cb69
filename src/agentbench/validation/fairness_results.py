"""Whether hidden tests reject right fixes: the variants of a reference solution and their results.

A variant is the reference solution with a change that leaves it right as far as the instruction
goes: another name, other words of a message, a part left out that the instruction does not need.
"""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import Finding, NodeId, Severity
from agentbench.validation.mutation_results import MutantChange


class VariantKind(StrEnum):
    """What a variant has otherwise than the reference solution."""

    NAME = "other name"
    MESSAGE = "other words of a message"
    EXCEPTION = "other exception"
    TYPE = "other type of a result"
    ORDER = "other order"
    LAYOUT = "other white space in a text"
    STRUCTURE = "code divided otherwise"
    PART = "without a part that the instruction does not need"


class VariantOutcome(StrEnum):
    """The result of the tests for a variant."""

    ACCEPTED = "accepted"  # the deciding tests pass
    REJECTED = "rejected"  # a deciding test fails, and nothing shows that the variant is wrong
    NOT_EQUAL = "not equal"
    """The project's own tests or an example of the instruction tell it from the reference."""
    NOT_JUDGED = "not judged"


class VariantResult(Schema):
    """A variant and its result."""

    kind: VariantKind
    change: MutantChange
    outcome: VariantOutcome
    rejected_by: tuple[NodeId, ...] = ()
    assertion: str = Field(default="", description="the failure of the first of these tests")
    detail: str = Field(default="", description="why it is not equal, or not judged")


class Fairness(Schema):
    """Whether the hidden tests of a task accept right fixes."""

    why_not: str = Field(default="", description="why no variant was run; empty: they were run")
    unstated: tuple[Finding, ...] = Field(
        default=(), description="names, messages and changes that tests need and nothing gives"
    )
    beyond: tuple[Finding, ...] = Field(
        default=(), description="tests that ask for more than the instruction: weak evidence"
    )
    variants: tuple[VariantResult, ...] = ()
    examples: int = Field(
        default=0,
        description="the number of examples in the instruction that show the bug and its fix",
    )
    made: int = Field(default=0, description="the number of variants")
    not_tried: str = Field(default="", description="what was not tried, and why")
    sandbox: str = ""
    seconds: float = 0.0

    def of(self, outcome: VariantOutcome) -> tuple[VariantResult, ...]:
        """The variants with one outcome."""
        return tuple(one for one in self.variants if one.outcome is outcome)

    @property
    def rejected(self) -> tuple[VariantResult, ...]:
        """The right fixes that the tests reject."""
        return self.of(VariantOutcome.REJECTED)

    @property
    def needed(self) -> tuple[Finding, ...]:
        """The unstated names, messages and changes at which nobody could guess."""
        return tuple(one for one in self.unstated if one.severity is not Severity.INFO)

    @property
    def is_unfair(self) -> bool:
        """Whether the tests are known to reject a right fix."""
        return bool(self.needed or self.rejected)


def fairness_lines(fairness: Fairness) -> Iterator[str]:
    """A line with the figures, and lines for each piece of evidence."""
    if fairness.why_not:
        yield f"fairness: variants not run: {fairness.why_not}"
    else:
        yield f"fairness: {_figures(fairness)}"
    for finding in (*fairness.unstated, *fairness.beyond):
        yield f"{finding.rule}: {finding.where}: {finding.what}"
    for one in fairness.rejected:
        yield from _variant_lines(one)


def _figures(fairness: Fairness) -> str:
    tried = len(fairness.variants)
    counts = (
        (len(fairness.of(VariantOutcome.NOT_EQUAL)), "not equal"),
        (len(fairness.of(VariantOutcome.NOT_JUDGED)), "not judged"),
    )
    parts = [f"{len(fairness.rejected)} of {tried} right variants of the fix rejected"]
    parts += [f"{count} {what}" for count, what in counts if count]
    parts += [fairness.not_tried] if fairness.not_tried else []
    return "; ".join(parts)


def _variant_lines(one: VariantResult) -> Iterator[str]:
    change = one.change
    yield f"rejected: {change.path}:{change.line}: {one.kind.value}: {change.what}"
    yield from (f"  - {line}" for line in change.removed.splitlines())
    yield from (f"  + {line}" for line in change.added.splitlines())
    failed = one.rejected_by[0] if one.rejected_by else ""
    if failed:
        yield f"  by {failed}{f': {one.assertion}' if one.assertion else ''}"


def fairness_json(fairness: Fairness) -> dict[str, object]:
    """The fairness of a task for `--json`."""
    return {"unfair": fairness.is_unfair, **fairness.model_dump(mode="json")}
