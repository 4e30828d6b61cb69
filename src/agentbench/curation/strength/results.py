"""What is said of the strength of a task's tests."""

from enum import StrEnum

from pydantic import Field

from agentbench.schema import Schema


class Scope(StrEnum):
    """What of the fixed files was changed."""

    LINES = "lines"
    """What the reference solution adds or changes."""
    FUNCTIONS = "functions"
    """All of the functions that it touches, where its own lines give few mutants."""


class Outcome(StrEnum):
    """What the hidden tests made of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed_out"
    """Killed, too: it does not end in many times what the reference solution takes."""
    SURVIVED = "survived"
    BROKEN = "broken"
    """No test of any quality could have let it pass: what it is in cannot be imported."""
    NOT_JUDGED = "not_judged"
    """The infrastructure failed at it, as often as it was tried."""


class Change(Schema):
    """One small change to the fixed tree, for a reader."""

    path: str
    line: int
    what: str  # `< to <=`
    removed: str  # the lines as the reference solution has them
    added: str


class JudgedMutant(Schema):
    """A mutant, and what came of it."""

    change: Change
    outcome: Outcome
    detail: str = ""


class Strength(Schema):
    """What the hidden tests of a task made of the mutants of its reference solution."""

    why_not: str = Field(default="", description="why nothing was measured; empty: it was")
    scope: Scope = Scope.LINES
    made: int = Field(default=0, description="mutants there are, without the equivalent ones")
    equivalent: int = Field(
        default=0, description="left out: they compile to what the reference solution compiles to"
    )
    seed: int = Field(default=0, description="what those tried were drawn with, if not all were")
    sandbox: str = ""
    mutants: tuple[JudgedMutant, ...] = ()

    def of(self, *outcomes: Outcome) -> tuple[JudgedMutant, ...]:
        """The mutants that ended in one of some ways."""
        return tuple(one for one in self.mutants if one.outcome in outcomes)

    @property
    def killed(self) -> int:
        """How many the tests noticed."""
        return len(self.of(Outcome.KILLED, Outcome.TIMED_OUT))

    @property
    def survivors(self) -> tuple[JudgedMutant, ...]:
        """Those that pass all the tests."""
        return self.of(Outcome.SURVIVED)

    @property
    def total(self) -> int:
        """How many count: neither those that are broken nor those that nobody judged."""
        return self.killed + len(self.survivors)

    @property
    def percent(self) -> float | None:
        """The share that was killed; None where none counts, which is not the same as all."""
        return 100 * self.killed / self.total if self.total else None


def reaches(strength: Strength, least: float) -> bool:
    """Whether a strength is known to be at least so many percent."""
    percent = strength.percent
    return percent is not None and percent >= least and not strength.of(Outcome.NOT_JUDGED)
