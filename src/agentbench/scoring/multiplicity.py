"""Many comparisons at once: p values corrected for their number, and what cannot be told apart."""

from collections.abc import Iterable, Sequence
from itertools import count, product
from string import ascii_lowercase


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P values that may be held against the same level however many there are (Holm 1979)."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return ()
    return tuple(float(each) for each in multipletests(p_values, method="holm")[1])


def letters(size: int, separated: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Letters for 0, 1, 2 … such that two share one exactly where they are not separated.

    The compact letter display by insertion and absorption (Piepho 2004): a group that holds a
    separated pair is split into one without each, and a group within another is dropped.

    Args:
        size: how many there are, the best one first.
        separated: pairs of them that differ significantly.
    """
    groups = [frozenset(range(size))] if size else []
    for one, other in separated:
        split = [
            part
            for group in groups
            for part in ((group - {one}, group - {other}) if {one, other} <= group else (group,))
        ]
        groups = _absorbed(split)
    named = list(zip(sorted(map(sorted, groups)), _names(), strict=False))
    apart = "" if len(groups) <= len(ascii_lowercase) else " "
    return tuple(
        apart.join(name for group, name in named if number in group) for number in range(size)
    )


def _absorbed(groups: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Groups that lie within no other one; of equal ones the first."""
    distinct = list(dict.fromkeys(groups))
    return [group for group in distinct if not any(group < other for other in distinct)]


def _names() -> Iterable[str]:
    """Letters in their order, then pairs of them: a, b … z, aa, ab and so on."""
    return (
        "".join(name) for length in count(1) for name in product(ascii_lowercase, repeat=length)
    )
