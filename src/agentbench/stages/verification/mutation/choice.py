"""Which expected values of a function are changed, so that its selected tests fail."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.stages.verification.mutation.expected import ExpectedValue, Replacement
from agentbench.stages.verification.mutation.flow import PERHAPS
from agentbench.stages.verification.mutation.read_file import ReadFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An expected value and what takes its place."""

    value: ExpectedValue
    new: Replacement


def choose(function: ReadFunction, cases: Sequence[str | None], rng: Random) -> tuple[Chosen, ...]:
    """One value of the function, or one of each set of parameters that is selected.

    Empty if there is none that makes every selected test fail.
    """
    whole = [value for value in function.values if value.row is None]
    for groups in sorted(_by_row(function, cases), key=_doubt):
        if _doubt(groups) < PERHAPS or not whole:
            chosen = [_one_of(group, rng) for group in groups]
            if None not in chosen:
                return tuple(one for one in chosen if one is not None)
    one = _one_of(whole, rng)
    return (one,) if one is not None else ()


def _by_row(
    function: ReadFunction, cases: Sequence[str | None]
) -> Iterator[list[list[ExpectedValue]]]:
    """For each table, the values of the rows that the selected tests are about, if all have one."""
    values: dict[tuple[int, int], list[ExpectedValue]] = {}
    for value in function.values:
        if value.row is not None:
            values.setdefault((value.row.table, value.row.index), []).append(value)
    for number, table in enumerate(function.tables):
        groups = [values.get((number, row), []) for row in table.rows_of(cases)]
        if groups and all(groups):
            yield groups


def _doubt(groups: list[list[ExpectedValue]]) -> int:
    return max(min(value.doubt for value in group) for group in groups)


def _one_of(values: Sequence[ExpectedValue], rng: Random) -> Chosen | None:
    """A value of a random assertion, from those that are most certain to be looked at."""
    for doubt in sorted({value.doubt for value in values}):
        certain = [value for value in values if value.doubt == doubt]
        sites = sorted({value.site for value in certain})
        for site in rng.sample(sites, len(sites)):
            at_site = [value for value in certain if value.site == site]
            for value in rng.sample(at_site, len(at_site)):
                new = value.way.changed(rng)
                if new is not None:
                    return Chosen(value=value, new=new)
    return None
