"""What is said of a strength, in lines and as JSON."""

from collections.abc import Iterator

from agentbench.curation.strength.results import JudgedMutant, Outcome, Scope, Strength

_SCOPES = {
    Scope.LINES: "in the lines of the fix",
    Scope.FUNCTIONS: "in the functions that the fix touches",
}


def lines_of(strength: Strength) -> Iterator[str]:
    """A line with the figures, and one for each mutant that the tests let pass or nobody judged."""
    if strength.why_not:
        yield f"strength: not measured: {strength.why_not}"
        return
    yield f"strength: {share_of(strength)} mutants killed, {_of_what(strength)}"
    for one in strength.survivors:
        yield from shown("survived", one)
    for one in strength.of(Outcome.NOT_JUDGED):
        yield from shown(f"not judged ({one.detail})", one)


def share_of(strength: Strength) -> str:
    """How many of how many, and in percent."""
    percent = strength.percent
    said = "" if percent is None else f" ({percent:.1f} %)"
    return f"{strength.killed} of {strength.total}{said}"


def shown(word: str, one: JudgedMutant) -> Iterator[str]:
    """A mutant: where, what, and its lines before and after."""
    change = one.change
    yield f"{word}: {change.path}:{change.line}: {change.what}"
    yield from (f"  - {line}" for line in change.removed.splitlines())
    yield from (f"  + {line}" for line in change.added.splitlines())


def row_of(strength: Strength) -> dict[str, object]:
    """A strength for `--json`."""
    return {
        "percent": strength.percent,
        "killed": strength.killed,
        "total": strength.total,
        **{
            outcome.value: len(strength.of(outcome))
            for outcome in (Outcome.TIMED_OUT, Outcome.BROKEN, Outcome.NOT_JUDGED)
        },
        **strength.model_dump(mode="json", exclude={"mutants"}),
        "survivors": [one.change.model_dump(mode="json") for one in strength.survivors],
        "not_judged_mutants": [
            one.model_dump(mode="json", exclude={"outcome"})
            for one in strength.of(Outcome.NOT_JUDGED)
        ],
    }


def _of_what(strength: Strength) -> str:
    counts = (
        (len(strength.of(Outcome.TIMED_OUT)), "by the deadline"),
        (len(strength.of(Outcome.BROKEN)), "broken and not counted"),
        (strength.equivalent, "equivalent and left out"),
        (len(strength.of(Outcome.NOT_JUDGED)), "not judged"),
    )
    said = [f"{count} {what}" for count, what in counts if count]
    if len(strength.mutants) < strength.made:
        said.append(f"{len(strength.mutants)} of {strength.made} drawn, seed {strength.seed}")
    return "; ".join([_SCOPES[strength.scope], *said])
