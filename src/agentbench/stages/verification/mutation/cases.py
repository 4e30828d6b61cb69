"""The parts in brackets of a function's node ids, and the rows that each is about."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

from agentbench.stages.verification.mutation.parametrize import Table, escaped

_MOST_CASES = 5_000
_MOST_UNKNOWN = 500
_MOST_TRIED = 20
_ANYTHING = "\0"  # in no id: pytest escapes it


@dataclass(frozen=True, slots=True)
class Case:
    """One row of each table, in the order in which pytest joins their ids."""

    rows: tuple[int, ...]
    parts: tuple[str | None, ...]
    """What the ids are made of, as far as that is known."""

    @property
    def name(self) -> str:
        """The part in brackets."""
        return "-".join(_ANYTHING if part is None else part for part in self.parts)


def as_joined(tables: Sequence[Table]) -> list[Table]:
    """Tables in the order of their ids: that of the decorator next to the function is first."""
    return list(reversed(tables))


def cases_by_name(tables: Sequence[Table], listed: Iterable[Collection[str]]) -> dict[str, Case]:
    """The case that each part in brackets surely is about; none if one is in doubt.

    Args:
        tables: All tables of a function.
        listed: The parts that are known to be, for each class that has the function.
    """
    cases = _cases(tables)
    found = {case.name: case for case in cases}
    if len(found) < len(cases):
        return {}  # pytest numbers those that are alike
    listed = list(listed)
    if any(None in case.parts for case in cases):
        return _by_likeness(cases, listed)
    if all(names <= found.keys() and _are_whole(names, found) for names in map(set, listed)):
        return found
    return {}


def _cases(tables: Sequence[Table]) -> list[Case]:
    columns = [
        [tuple(None if part is None else escaped(part) for part in row.parts) for row in table.rows]
        for table in as_joined(tables)
    ]
    if not columns or math.prod(map(len, columns)) > _MOST_CASES:
        return []
    rows = product(*(range(len(column)) for column in columns))
    return [
        Case(at, tuple(chain.from_iterable(parts)))
        for at, parts in zip(rows, product(*columns), strict=True)
    ]


def _by_likeness(cases: Sequence[Case], listed: Sequence[Collection[str]]) -> dict[str, Case]:
    """Names by the only case that each is like, where every case has one."""
    names = set(chain.from_iterable(listed))
    if len(names) != len(cases) or len(cases) > _MOST_UNKNOWN:
        return {}
    found: dict[str, Case] = {}
    for case in cases:
        like = [name for name in names if _is_like(name, case.name.split(_ANYTHING))]
        if len(like) != 1 or like[0] in found:
            return {}
        found[like[0]] = case
    fewest = min(len(case.parts) for case in cases) - 1
    whole = all(any(name.count("-") == fewest for name in one) for one in listed)
    return found if whole else {}


def _is_like(name: str, pieces: Sequence[str]) -> bool:
    """Whether a name has these pieces in this order, the first and the last at its ends."""
    first, *inner, last = pieces if len(pieces) > 1 else [*pieces, ""]
    if len(pieces) == 1:
        return name == first
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in inner:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _are_whole(names: Collection[str], known: Mapping[str, Case]) -> bool:
    """Whether known cases are not others that have a part besides.

    Such a part, of a fixture, a class or a hook, is in all cases of a function if it is in one.
    """
    shortest = sorted(names, key=len)[:_MOST_TRIED]
    return any(
        not any(len(other) < len(name) and _may_be_in(name, case) for other, case in known.items())
        for name in shortest
    )


def _may_be_in(name: str, case: Case) -> bool:
    return _is_like(name, ["", *(part for part in case.parts if part is not None), ""])
