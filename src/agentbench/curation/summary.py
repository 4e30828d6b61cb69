"""How many tasks are good, and why the others are not."""

from collections import Counter
from collections.abc import Iterator, Sequence

from agentbench.curation.gate import Proven

_FEW_KINDS = 6  # that a summary names; the rest is counted together


def findings_of(one: Proven) -> Iterator[str]:
    """All that there is to say of one task, a line each: reasons, leaks, weak controls."""
    yield from one.reasons
    for leak in one.leaks:
        yield f"{leak.severity.value}: {leak.rule} at {leak.where}: {leak.what}"
    shown = one.proof or one.kept
    for weak in shown.weakly_controlled if shown else ():
        yield f"weakly controlled: {weak.file}::{weak.function}: {weak.reason}"


def why_not(proven: Sequence[Proven]) -> str:
    """The first reasons of the tasks that are not good, by their kind, the most frequent first."""
    kinds = Counter(_kind(one.reasons[0]) for one in proven if not one.good)
    said = [f"{count} x {kind}" for kind, count in kinds.most_common(_FEW_KINDS)]
    more = len(kinds) - len(said)
    return "; ".join([*said, *([f"{more} other reasons"] if more > 0 else [])])


def _kind(reason: str) -> str:
    """A reason without what is its task's alone: names, numbers of runs, what pytest said."""
    head = reason.partition(": ")[0]
    return head.partition(" (")[0].rpartition("/task.toml")[2].strip() or "its files are wrong"
