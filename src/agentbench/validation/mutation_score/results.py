"""What is said of the strength of a task's tests: a model, lines and JSON."""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema


class MutationScope(StrEnum):
    """What of the fixed files was changed."""

    LINES = "lines"
    """What the reference solution adds or changes."""
    FUNCTIONS = "functions"
    """All of the functions that it touches, where its own lines give few mutants."""


class MutantOutcome(StrEnum):
    """What the hidden tests made of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed_out"
    """Killed, too: it does not end in many times what the reference solution takes."""
    SURVIVED = "survived"
    BROKEN = "broken"
    """No test of any quality could have let it pass: what it is in cannot be imported."""
    NOT_JUDGED = "not_judged"
    """The infrastructure failed at it, as often as it was tried."""


class MutantChange(Schema):
    """One small change to the fixed tree, for a reader."""

    path: str
    line: int
    what: str  # `< to <=`
    removed: str  # the lines as the reference solution has them
    added: str


class MutantResult(Schema):
    """A mutant, and what came of it."""

    change: MutantChange
    outcome: MutantOutcome
    detail: str = ""


class MutationScore(Schema):
    """What the hidden tests of a task made of the mutants of its reference solution."""

    why_not: str = Field(default="", description="why nothing was measured; empty: it was")
    scope: MutationScope = MutationScope.LINES
    made: int = Field(default=0, description="mutants there are, without the equivalent ones")
    equivalent: int = Field(
        default=0, description="left out: they compile to what the reference solution compiles to"
    )
    seed: int = Field(default=0, description="what those tried were drawn with, if not all were")
    sandbox: str = ""
    mutants: tuple[MutantResult, ...] = ()

    def of(self, *outcomes: MutantOutcome) -> tuple[MutantResult, ...]:
        """The mutants that ended in one of some ways."""
        return tuple(one for one in self.mutants if one.outcome in outcomes)

    @property
    def killed(self) -> int:
        """How many the tests noticed."""
        return len(self.of(MutantOutcome.KILLED, MutantOutcome.TIMED_OUT))

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """Those that pass all the tests."""
        return self.of(MutantOutcome.SURVIVED)

    @property
    def total(self) -> int:
        """How many count: neither those that are broken nor those that nobody judged."""
        return self.killed + len(self.survivors)

    @property
    def percent(self) -> float | None:
        """The share that was killed; None where none counts, which is not the same as all."""
        return 100 * self.killed / self.total if self.total else None


def reaches(strength: MutationScore, least: float) -> bool:
    """Whether a strength is known to be at least so many percent."""
    percent = strength.percent
    return percent is not None and percent >= least and not strength.of(MutantOutcome.NOT_JUDGED)


_SCOPES = {
    MutationScope.LINES: "in the lines of the fix",
    MutationScope.FUNCTIONS: "in the functions that the fix touches",
}


def score_lines(strength: MutationScore) -> Iterator[str]:
    """A line with the figures, and one for each mutant that the tests let pass or nobody judged."""
    if strength.why_not:
        yield f"strength: not measured: {strength.why_not}"
        return
    yield f"strength: {killed_text(strength)} mutants killed, {_details(strength)}"
    for one in strength.survivors:
        yield from mutant_lines("survived", one)
    for one in strength.of(MutantOutcome.NOT_JUDGED):
        yield from mutant_lines(f"not judged ({one.detail})", one)


def killed_text(strength: MutationScore) -> str:
    """How many of how many, and in percent."""
    percent = strength.percent
    said = "" if percent is None else f" ({percent:.1f} %)"
    return f"{strength.killed} of {strength.total}{said}"


def mutant_lines(word: str, one: MutantResult) -> Iterator[str]:
    """A mutant: where, what, and its lines before and after."""
    change = one.change
    yield f"{word}: {change.path}:{change.line}: {change.what}"
    yield from (f"  - {line}" for line in change.removed.splitlines())
    yield from (f"  + {line}" for line in change.added.splitlines())


def score_json(strength: MutationScore) -> dict[str, object]:
    """A strength for `--json`."""
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
    said = [f"{count} {what}" for count, what in counts if count]
    if len(strength.mutants) < strength.made:
        said.append(f"{len(strength.mutants)} of {strength.made} drawn, seed {strength.seed}")
    return "; ".join([_SCOPES[strength.scope], *said])
