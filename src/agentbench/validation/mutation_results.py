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


class EvidenceKind(StrEnum):
    """What shows that a change which the deciding tests accept is wrong."""

    STRONGER_TEST = "stronger test"  # a test that the reference solution passes fails
    INPUT = "input"  # it does something else than the reference solution on an input


class WrongFixEvidence(Schema):
    """A sign that a survivor is wrong."""

    kind: EvidenceKind
    where: str = Field(description="the test, or the function that was called")
    what: str = Field(description="the failure, or the input and both outcomes")


class MutantResult(Schema):
    """A mutant and its outcome."""

    change: MutantChange
    outcome: MutantOutcome
    detail: str = ""
    is_partial: bool = Field(
        default=False, description="whether it is the reference solution with a part left out"
    )
    evidence: tuple[WrongFixEvidence, ...] = Field(
        default=(), description="what shows that a survivor is wrong"
    )


class StrongerTestsResult(Schema):
    """What the stronger tests could be used for."""

    why_not: str = Field(default="", description="why they were not run; empty: they were")
    counted: int = Field(default=0, description="the tests that the reference solution passes")
    not_counted: int = Field(default=0, description="the tests that it does not pass")
    not_judged: int = Field(
        default=0, description="the survivors on which the infrastructure failed"
    )


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
    stronger: StrongerTestsResult | None = Field(
        default=None, description="null: no stronger tests were given"
    )
    search: str = Field(
        default="", description="how far survivors were compared with the reference solution"
    )

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
    def certified(self) -> tuple[MutantResult, ...]:
        """The certified wrong fixes: survivors that are shown to be wrong."""
        return tuple(one for one in self.survivors if one.evidence)

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
    """A line with the figures, and lines for each survived or unjudged mutant."""
    if strength.why_not:
        yield f"strength: not measured: {strength.why_not}"
        return
    yield f"strength: {killed_text(strength)} mutants killed, {_details(strength)}"
    yield from _stronger_lines(strength)
    if strength.search:
        yield f"search: {strength.search}"
    for one in strength.certified:
        yield from mutant_lines("certified wrong fix", one)
        for sign in one.evidence:
            of_set = "fails " if sign.kind is EvidenceKind.STRONGER_TEST else ""
            yield f"  {of_set}{sign.where}: {sign.what}"
    for one in strength.survivors:
        if not one.evidence:
            yield from mutant_lines("survived", one)
    for one in strength.of(MutantOutcome.NOT_JUDGED):
        yield from mutant_lines(f"not judged ({one.detail})", one)


def _stronger_lines(strength: MutationScore) -> Iterator[str]:
    stronger = strength.stronger
    if stronger is None:
        return
    if stronger.why_not:
        yield f"stronger tests: not run: {stronger.why_not}"
    elif not stronger.counted:
        yield (
            "stronger tests: none passes with the reference solution, so none counts: "
            f"{stronger.not_counted} fail"
        )
    else:
        caught = sum(
            any(sign.kind is EvidenceKind.STRONGER_TEST for sign in one.evidence)
            for one in strength.survivors
        )
        parts = [f"{caught} of {len(strength.survivors)} survivors fail one of {stronger.counted}"]
        if stronger.not_counted:
            parts.append(f"{stronger.not_counted} fail with the reference and do not count")
        if stronger.not_judged:
            parts.append(f"not judged on {stronger.not_judged} survivors")
        yield f"stronger tests: {'; '.join(parts)}"


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
        "certified": [
            {
                **one.change.model_dump(mode="json"),
                "is_partial": one.is_partial,
                "evidence": [sign.model_dump(mode="json") for sign in one.evidence],
            }
            for one in strength.certified
        ],
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
