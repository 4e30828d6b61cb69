"""The mutation score of a task's tests: its model, text lines and JSON."""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema


class MutationScope(StrEnum):
    """The mutated part of the fixed files."""

    LINES = "lines"  # the lines that the reference solution adds or changes
    FUNCTIONS = "functions"
    """The whole functions that it touches, if its own lines give few mutants."""


class MutantOutcome(StrEnum):
    """The result of the hidden tests for a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed_out"  # killed, too: takes many times the reference solution's time
    SURVIVED = "survived"
    BROKEN = "broken"  # not counted: its module cannot be imported, so every test would detect it
    NOT_JUDGED = "not_judged"  # the infrastructure failed in every run


class MutantChange(Schema):
    """One small change to the fixed tree, for a reader."""

    path: str
    line: int
    what: str  # `< to <=`
    removed: str  # the lines as the reference solution has them
    added: str


class MutantResult(Schema):
    """A mutant and its outcome."""

    change: MutantChange
    outcome: MutantOutcome
    detail: str = ""


class MutationScore(Schema):
    """The results of a task's hidden tests for the mutants of its reference solution."""

    why_not: str = Field(
        default="", description="why nothing was measured; empty: mutants were run"
    )
    scope: MutationScope = MutationScope.LINES
    made: int = Field(default=0, description="the number of mutants, without equivalent ones")
    equivalent: int = Field(
        default=0,
        description="the number of skipped mutants that compile to the code of the "
        "reference solution",
    )
    seed: int = Field(default=0, description="the seed of the sample, if not all mutants were run")
    sandbox: str = ""
    mutants: tuple[MutantResult, ...] = ()

    def of(self, *outcomes: MutantOutcome) -> tuple[MutantResult, ...]:
        """The mutants with one of some outcomes."""
        return tuple(one for one in self.mutants if one.outcome in outcomes)

    @property
    def killed(self) -> int:
        """The number of mutants that the tests detected."""
        return len(self.of(MutantOutcome.KILLED, MutantOutcome.TIMED_OUT))

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """The mutants that pass all tests."""
        return self.of(MutantOutcome.SURVIVED)

    @property
    def total(self) -> int:
        """The number of mutants that count: neither broken nor unjudged ones."""
        return self.killed + len(self.survivors)

    @property
    def percent(self) -> float | None:
        """The share of killed mutants; None if no mutant counts."""
        return 100 * self.killed / self.total if self.total else None


def reaches(strength: MutationScore, least: float) -> bool:
    """Whether a mutation score is known to be at least a percentage."""
    percent = strength.percent
    return percent is not None and percent >= least and not strength.of(MutantOutcome.NOT_JUDGED)


_SCOPES = {
    MutationScope.LINES: "in the lines of the fix",
    MutationScope.FUNCTIONS: "in the functions that the fix touches",
}


def score_lines(strength: MutationScore) -> Iterator[str]:
    """A line with the figures, and one for each survived or unjudged mutant."""
    if strength.why_not:
        yield f"strength: not measured: {strength.why_not}"
        return
    yield f"strength: {killed_text(strength)} mutants killed, {_details(strength)}"
    for one in strength.survivors:
        yield from mutant_lines("survived", one)
    for one in strength.of(MutantOutcome.NOT_JUDGED):
        yield from mutant_lines(f"not judged ({one.detail})", one)


def killed_text(strength: MutationScore) -> str:
    """The killed and the counted mutants, and the share in percent."""
    percent = strength.percent
    message = "" if percent is None else f" ({percent:.1f} %)"
    return f"{strength.killed} of {strength.total}{message}"


def mutant_lines(word: str, one: MutantResult) -> Iterator[str]:
    """A mutant: its place, its change, and its lines before and after."""
    change = one.change
    yield f"{word}: {change.path}:{change.line}: {change.what}"
    yield from (f"  - {line}" for line in change.removed.splitlines())
    yield from (f"  + {line}" for line in change.added.splitlines())


def score_json(strength: MutationScore) -> dict[str, object]:
    """A mutation score for `--json`."""
    return {
        "percent": strength.percent,
        "killed": strength.killed,
        "total": strength.total,
        **{
            outcome.value: len(strength.of(outcome))
            for outcome in (MutantOutcome.TIMED_OUT, MutantOutcome.BROKEN, MutantOutcome.NOT_JUDGED)
        },
        **strength.model_dump(mode="json", exclude={"mutants"}),
        "survivors": [one.change.model_dump(mode="json") for one in strength.survivors],
        "not_judged_mutants": [
            one.model_dump(mode="json", exclude={"outcome"})
            for one in strength.of(MutantOutcome.NOT_JUDGED)
        ],
    }


def _details(strength: MutationScore) -> str:
    counts = (
        (len(strength.of(MutantOutcome.TIMED_OUT)), "by the deadline"),
        (len(strength.of(MutantOutcome.BROKEN)), "broken and not counted"),
        (strength.equivalent, "equivalent and left out"),
        (len(strength.of(MutantOutcome.NOT_JUDGED)), "not judged"),
    )
    details = [f"{count} {what}" for count, what in counts if count]
    if len(strength.mutants) < strength.made:
        details.append(f"{len(strength.mutants)} of {strength.made} drawn, seed {strength.seed}")
    return "; ".join([_SCOPES[strength.scope], *details])
