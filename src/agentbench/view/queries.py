"""Parses the query of an address: filters, order and page of attempts or tests.

Parsing is strict: an unknown value is an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from agentbench.report.attempt_rows import verdict_word
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.evidence import CaseOutcome
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.scoring.verdict import CaseChange

_T = TypeVar("_T", bound=StrEnum)
_Item = TypeVar("_Item")
_MAX_DIGITS = 6


class BadQueryError(Exception):
    """The query of an address is invalid; the message is for people."""


def parse_word(words: type[_T], name: str, query: Mapping[str, str]) -> _T | None:
    """One of some words; None if it is missing.

    Raises:
        BadQueryError: the word is unknown.
    """
    said = query.get(name, "")
    if not said:
        return None
    try:
        return words(said)
    except ValueError:
        known = ", ".join(words)
        raise BadQueryError(f"{name}: found {said!r}; expected one of {known}.") from None


def parse_positive_int(name: str, query: Mapping[str, str], *, default: int) -> int:
    """A number of at least 1.

    Raises:
        BadQueryError: the value is invalid.
    """
    said = query.get(name, "")
    if not said:
        return default
    if not (said.isascii() and said.isdigit() and len(said) <= _MAX_DIGITS and int(said)):
        raise BadQueryError(
            f"{name}: found {said!r}; expected a number of 1 to {_MAX_DIGITS} digits."
        )
    return int(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSlice(Generic[_Item]):
    """The items of one page, its number, and the number of pages (at least 1)."""

    items: Sequence[_Item]
    number: int
    count: int

    @classmethod
    def of(cls, items: Sequence[_Item], number: int, *, size: int) -> "PageSlice[_Item]":
        """The requested page, or the last one if there are fewer."""
        count = max(1, -(-len(items) // size))
        number = min(number, count)
        shown = items[(number - 1) * size : number * size]
        return cls(items=shown, number=number, count=count)


ATTEMPTS_PER_PAGE = 100
"""The number of attempts on one page."""


class VerdictFilter(StrEnum):
    """The verdicts to filter by."""

    RESOLVED = "resolved"
    FAILED = "failed"
    QUARANTINED = "quarantined"


class RetryFilter(StrEnum):
    """Which records of an attempt are shown: the last one, or all with retries."""

    LAST = "last"
    ALL = "all"


class SortKey(StrEnum):
    """The columns to sort attempts by."""

    TASK = "task"
    ATTEMPT = "attempt"
    VERDICT = "verdict"
    REASON = "reason"
    FAULT = "fault"
    FIXED = "fixed"
    SECONDS = "seconds"
    COST = "cost"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptQuery:
    """A filter, an order and a page."""

    text: str = ""
    task: str = ""
    verdict: VerdictFilter | None = None
    reason: FailureReason | None = None
    fault: Fault | None = None
    tries: RetryFilter = RetryFilter.LAST
    sort: SortKey = SortKey.TASK
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "AttemptQuery":
        """Parse the query of an address.

        Raises:
            BadQueryError: a value is invalid.
        """
        sort = query.get("sort", "")
        return cls(
            text=query.get("q", "").strip(),
            task=query.get("task", ""),
            verdict=parse_word(VerdictFilter, "verdict", query),
            reason=parse_word(FailureReason, "reason", query),
            fault=parse_word(Fault, "fault", query),
            tries=parse_word(RetryFilter, "tries", query) or RetryFilter.LAST,
            sort=parse_word(SortKey, "sort", {"sort": sort.removeprefix("-")}) or SortKey.TASK,
            descending=sort.startswith("-"),
            page=parse_positive_int("page", query, default=1),
        )

    def query(self, **changes: Any) -> str:  # noqa: ANN401 - whatever the fields hold
        """The address's query with some changes; `?` for all defaults.

        A change leads to the first page, unless the page is among the changes.
        """
        new = replace(self, **{"page": 1, **changes})
        asked = {
            "q": new.text,
            "task": new.task,
            "verdict": new.verdict,
            "reason": new.reason,
            "fault": new.fault,
            "tries": "" if new.tries is RetryFilter.LAST else new.tries,
            "sort": new.sort_word,
            "page": "" if new.page == 1 else new.page,
        }
        told = urlencode({name: str(value) for name, value in asked.items() if value})
        return f"?{told}" if told else "?"

    @property
    def sort_word(self) -> str:
        """The order in an address; empty for the default."""
        if self.sort is SortKey.TASK and not self.descending:
            return ""
        return f"-{self.sort}" if self.descending else self.sort.value

    def sorted_by(self, key: SortKey) -> str:
        """The query that sorts by a column, or reverses its order."""
        return self.query(sort=key, descending=self.sort is key and not self.descending)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage:
    """One page of attempts."""

    numbers: Sequence[int]  # of the summaries
    total: int  # matches of the filter
    number: int
    count: int  # of pages, at least 1

    @property
    def first(self) -> int:
        """The position of the first attempt, counted from 1; 0 if there is none."""
        return (self.number - 1) * ATTEMPTS_PER_PAGE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """The position of the last attempt."""
        return self.first + len(self.numbers) - 1 if self.total else 0


def select_attempts(
    headlines: Sequence[AttemptSummary], numbers: Sequence[int], choice: AttemptQuery
) -> AttemptsPage:
    """The requested page of attempts, or the last one if there are fewer.

    Args:
        headlines: All summaries of a run.
        numbers: The considered ones, in the order of their ends.
        choice: The query.
    """
    wanted = tuple(_conditions(choice))
    left = [number for number in numbers if all(fits(headlines[number]) for fits in wanted)]
    left = _in_order(headlines, left, choice)
    page = PageSlice.of(left, choice.page, size=ATTEMPTS_PER_PAGE)
    return AttemptsPage(numbers=page.items, total=len(left), number=page.number, count=page.count)


def _conditions(choice: AttemptQuery) -> Iterator[Callable[[AttemptSummary], bool]]:
    if choice.task:
        yield lambda told: told.task_id == choice.task
    if choice.verdict is not None:
        yield lambda told: verdict_word(told) == choice.verdict
    if choice.reason is not None:
        yield lambda told: told.failure_reason is choice.reason
    if choice.fault is not None:
        yield lambda told: told.fault is choice.fault
    for word in choice.text.casefold().split():
        yield lambda told, word=word: word in _searched_text(told)  # type: ignore[misc]  # a default has no type


def _searched_text(told: AttemptSummary) -> str:
    reason = told.failure_reason or ""
    return f"{told.place} {reason} {told.agent} {told.detail}".casefold()


def _in_order(
    headlines: Sequence[AttemptSummary], numbers: list[int], choice: AttemptQuery
) -> list[int]:
    if choice.sort is SortKey.ENDED:
        return numbers[::-1] if choice.descending else numbers
    # Equal ones by task and attempt in both directions.
    numbers.sort(key=lambda number: (headlines[number].task_id, headlines[number].attempt))
    key = _SORT_KEYS[choice.sort]
    numbers.sort(key=lambda number: key(headlines[number]), reverse=choice.descending)
    return numbers


_SORT_KEYS: Mapping[SortKey, Callable[[AttemptSummary], Any]] = {
    SortKey.TASK: lambda told: told.task_id,
    SortKey.ATTEMPT: lambda told: told.attempt,
    SortKey.VERDICT: verdict_word,
    SortKey.REASON: lambda told: told.failure_reason.precedence if told.failure_reason else 0,
    SortKey.FAULT: lambda told: told.fault or "",
    SortKey.FIXED: lambda told: told.counts.fixed,
    SortKey.SECONDS: lambda told: told.total_s,
    SortKey.COST: lambda told: told.cost_usd if told.cost_usd is not None else -inf,
}


CASES_PER_PAGE = 200
"""The number of tests on one page."""


class CaseFilter(StrEnum):
    """The filters of tests."""

    CHANGED = "changed"
    NOT_PASSED = "not-passed"
    LISTED = "listed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """One page of an attempt's tests."""

    cases: Sequence[CaseChange]
    counts: Mapping[CaseFilter, int]
    chosen: CaseFilter
    number: int
    count: int


def select_cases(cases: Sequence[CaseChange], chosen: CaseFilter | None, number: int) -> CasePage:
    """The requested tests; by default those that changed, or all if none did."""
    fitting = {name: [case for case in cases if fits(case)] for name, fits in _FILTERS.items()}
    if chosen is None:
        chosen = CaseFilter.CHANGED if fitting[CaseFilter.CHANGED] else CaseFilter.ALL
    left = fitting[chosen]
    page = PageSlice.of(left, number, size=CASES_PER_PAGE)
    return CasePage(
        cases=page.items,
        counts={name: len(own) for name, own in fitting.items()},
        chosen=chosen,
        number=page.number,
        count=page.count,
    )


_FILTERS: Mapping[CaseFilter, Callable[[CaseChange], bool]] = {
    CaseFilter.CHANGED: lambda case: case.baseline is not case.final,
    CaseFilter.NOT_PASSED: lambda case: case.final is not CaseOutcome.PASSED,
    CaseFilter.LISTED: lambda case: case.listed is not None,
    CaseFilter.ALL: lambda _case: True,
}
