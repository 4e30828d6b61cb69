"""Parses the query of an address: filters, order and page of attempts or tests.

Parsing is strict: an unknown value is an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from agentbench.report.attempt_columns import verdict_word
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.evidence import CaseOutcome
from agentbench.scoring.verdict import CaseChange
from agentbench.taxonomy import FailureReason, Fault

_T = TypeVar("_T", bound=StrEnum)
_Item = TypeVar("_Item")
_MAX_DIGITS = 6
ATTEMPTS_PER_PAGE = 100
CASES_PER_PAGE = 200


class BadQueryError(Exception):
    """The query of an address is invalid; the message is for people."""


def parse_word(words: type[_T], name: str, query: Mapping[str, str]) -> _T | None:
    """One of some words; None if it is missing.

    Raises:
        BadQueryError: the word is unknown.
    """
    value = query.get(name, "")
    if not value:
        return None
    try:
        return words(value)
    except ValueError:
        known = ", ".join(words)
        raise BadQueryError(f"{name}: found {value!r}; expected one of {known}.") from None


def parse_positive_int(name: str, query: Mapping[str, str], *, default: int) -> int:
    """A number of at least 1.

    Raises:
        BadQueryError: the value is invalid.
    """
    value = query.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS and int(value)):
        raise BadQueryError(
            f"{name}: found {value!r}; expected a number of 1 to {_MAX_DIGITS} digits."
        )
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSlice(Generic[_Item]):
    """The items of one page."""

    items: Sequence[_Item] = ()
    total: int = 0  # on all pages
    number: int = 1
    count: int = 1  # of pages, at least 1
    first: int = 0  # the position of its first item, counted from 1; 0 if there is none

    @classmethod
    def of(cls, items: Sequence[_Item], number: int, *, size: int) -> "PageSlice[_Item]":
        """The requested page, or the last one if there are fewer."""
        count = max(1, -(-len(items) // size))
        number = min(number, count)
        start = (number - 1) * size
        return cls(
            items=items[start : start + size],
            total=len(items),
            number=number,
            count=count,
            first=start + 1 if items else 0,
        )

    @property
    def last(self) -> int:
        return self.first + len(self.items) - 1 if self.items else 0


class VerdictFilter(StrEnum):
    """The verdicts to filter by."""

    RESOLVED = "resolved"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    TAMPERED = "tampered"  # with tests, whatever the verdict


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


class SortColumn(NamedTuple):
    """A column of the list of attempts: its title, and the value that it is sorted by."""

    title: str
    value: Callable[[AttemptSummary], Any]


SORT_COLUMNS: Mapping[SortKey, SortColumn] = {
    SortKey.TASK: SortColumn("Task", lambda attempt: attempt.task_id),
    SortKey.ATTEMPT: SortColumn("Attempt", lambda attempt: attempt.attempt),
    SortKey.VERDICT: SortColumn("Verdict", verdict_word),
    SortKey.REASON: SortColumn(
        "Reason",
        lambda attempt: attempt.failure_reason.precedence if attempt.failure_reason else 0,
    ),
    SortKey.FAULT: SortColumn("Fault", lambda attempt: attempt.fault or ""),
    SortKey.FIXED: SortColumn("Tests", lambda attempt: attempt.counts.fixed),
    SortKey.SECONDS: SortColumn("Time", lambda attempt: attempt.total_s),
    SortKey.COST: SortColumn(
        "Cost", lambda attempt: attempt.cost_usd if attempt.cost_usd is not None else -inf
    ),
}


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
        parameters = {
            "q": new.text,
            "task": new.task,
            "verdict": new.verdict,
            "reason": new.reason,
            "fault": new.fault,
            "tries": "" if new.tries is RetryFilter.LAST else new.tries,
            "sort": new.sort_word,
            "page": "" if new.page == 1 else new.page,
        }
        return "?" + urlencode({name: str(value) for name, value in parameters.items() if value})

    @property
    def sort_word(self) -> str:
        """The order in an address; empty for the default."""
        if self.sort is SortKey.TASK and not self.descending:
            return ""
        return f"-{self.sort}" if self.descending else self.sort.value

    def sorted_by(self, key: SortKey) -> str:
        """The query that sorts by a column, or reverses its order."""
        return self.query(sort=key, descending=self.sort is key and not self.descending)


def select_attempts(
    summaries: Sequence[AttemptSummary], numbers: Sequence[int], query: AttemptQuery
) -> PageSlice[int]:
    """The numbers of the attempts on the requested page, of those in the order of their ends."""
    conditions = tuple(_conditions(query))
    found = [n for n in numbers if all(condition(summaries[n]) for condition in conditions)]
    if query.sort is SortKey.ENDED:
        found = found[::-1] if query.descending else found
    else:
        # Equal ones by task and attempt in both directions.
        found.sort(key=lambda number: (summaries[number].task_id, summaries[number].attempt))
        value = SORT_COLUMNS[query.sort].value
        found.sort(key=lambda number: value(summaries[number]), reverse=query.descending)
    return PageSlice.of(found, query.page, size=ATTEMPTS_PER_PAGE)


def _conditions(query: AttemptQuery) -> Iterator[Callable[[AttemptSummary], bool]]:
    if query.task:
        yield lambda attempt: attempt.task_id == query.task
    if query.verdict is VerdictFilter.TAMPERED:
        yield lambda attempt: attempt.tampered > 0
    elif query.verdict is not None:
        yield lambda attempt: verdict_word(attempt) == query.verdict
    if query.reason is not None:
        yield lambda attempt: attempt.failure_reason is query.reason
    if query.fault is not None:
        yield lambda attempt: attempt.fault is query.fault
    words = query.text.casefold().split()
    if words:

        def contains_all(attempt: AttemptSummary) -> bool:
            reason = attempt.failure_reason or ""
            text = f"{attempt.folder_name} {reason} {attempt.agent} {attempt.detail}".casefold()
            return all(word in text for word in words)

        yield contains_all


class CaseFilter(StrEnum):
    """The filters of tests."""

    CHANGED = "changed"
    NOT_PASSED = "not-passed"
    LISTED = "listed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """One page of an attempt's tests."""

    page: PageSlice[CaseChange]
    counts: Mapping[CaseFilter, int]
    chosen: CaseFilter


def select_cases(
    cases: Sequence[CaseChange], chosen: CaseFilter | None, number: int, *, resolved: bool = False
) -> CasePage:
    """The requested tests; by default the first kind that has some.

    An attempt that failed opens on the tests that did not pass, a resolved one on those it changed.
    """
    fitting = {name: [case for case in cases if fits(case)] for name, fits in _FILTERS.items()}
    if chosen is None:
        usual = [CaseFilter.NOT_PASSED, CaseFilter.CHANGED]
        usual = usual[::-1] if resolved else usual
        chosen = next((name for name in usual if fitting[name]), CaseFilter.ALL)
    return CasePage(
        page=PageSlice.of(fitting[chosen], number, size=CASES_PER_PAGE),
        counts={name: len(own) for name, own in fitting.items()},
        chosen=chosen,
    )


_FILTERS: Mapping[CaseFilter, Callable[[CaseChange], bool]] = {
    CaseFilter.CHANGED: lambda case: case.baseline is not case.final,
    CaseFilter.NOT_PASSED: lambda case: case.final is not CaseOutcome.PASSED,
    CaseFilter.LISTED: lambda case: case.listed is not None,
    CaseFilter.ALL: lambda _case: True,
}
