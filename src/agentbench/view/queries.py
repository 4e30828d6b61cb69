"""What an address asks for: which attempts or tests, in which order, and which page.

It is read strictly: what there is not is an error, and not taken for nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, TypeVar
from urllib.parse import urlencode

from agentbench.report.attempt_rows import verdict_word
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.evidence import CaseOutcome
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.scoring.verdict import CaseChange

_T = TypeVar("_T", bound=StrEnum)
_MAX_DIGITS = 6


class BadQueryError(Exception):
    """An address asks for something that there is not; the message is for people."""


def parse_word(words: type[_T], name: str, query: Mapping[str, str]) -> _T | None:
    """One of some words; None where nothing is said.

    Raises:
        BadQueryError: it is none of them.
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
    """A number from 1 on.

    Raises:
        BadQueryError: it is none.
    """
    said = query.get(name, "")
    if not said:
        return default
    if not (said.isascii() and said.isdigit() and len(said) <= _MAX_DIGITS and int(said)):
        raise BadQueryError(
            f"{name}: found {said!r}; expected a number of 1 to {_MAX_DIGITS} digits."
        )
    return int(said)


ATTEMPTS_PER_PAGE = 100
"""Attempts on one page."""


class VerdictFilter(StrEnum):
    """What may have become of an attempt."""

    RESOLVED = "resolved"
    FAILED = "failed"
    QUARANTINED = "quarantined"


class RetryFilter(StrEnum):
    """Which tries at an attempt are shown."""

    LAST = "last"
    ALL = "all"


class SortKey(StrEnum):
    """What attempts can be sorted by."""

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
        """What an address asks for.

        Raises:
            BadQueryError: it asks for something that there is not.
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
        """The query of the address that shows the same but for some changes; `` for all defaults.

        Whatever is changed, its first page is shown, unless a page is among the changes.
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
        """The order as addresses have it; nothing for the usual one."""
        if self.sort is SortKey.TASK and not self.descending:
            return ""
        return f"-{self.sort}" if self.descending else self.sort.value

    def sorted_by(self, key: SortKey) -> str:
        """The query that sorts by a column, or turns its order round."""
        return self.query(sort=key, descending=self.sort is key and not self.descending)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage:
    """The part of some attempts that fits a page."""

    numbers: Sequence[int]  # of the headlines
    total: int  # that the filter let through
    number: int
    count: int  # of pages, at least 1

    @property
    def first(self) -> int:
        """Which of all the first one is, counted from 1; 0 where there is none."""
        return (self.number - 1) * ATTEMPTS_PER_PAGE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """Which of all the last one is."""
        return self.first + len(self.numbers) - 1 if self.total else 0


def select_attempts(
    headlines: Sequence[AttemptSummary], numbers: Sequence[int], choice: AttemptQuery
) -> AttemptsPage:
    """The page of attempts that was asked for, or the last one where there are fewer.

    Args:
        headlines: All of a run.
        numbers: Which of them are looked at, in the order of their end.
        choice: What was asked for.
    """
    wanted = tuple(_conditions(choice))
    left = [number for number in numbers if all(fits(headlines[number]) for fits in wanted)]
    left = _in_order(headlines, left, choice)
    count = max(1, -(-len(left) // ATTEMPTS_PER_PAGE))
    page = min(choice.page, count)
    shown = left[(page - 1) * ATTEMPTS_PER_PAGE : page * ATTEMPTS_PER_PAGE]
    return AttemptsPage(numbers=shown, total=len(left), number=page, count=count)


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
    # Alike ones by task and attempt, whichever way the column goes.
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
"""On one page."""


class CaseFilter(StrEnum):
    """Which tests are shown."""

    CHANGED = "changed"
    NOT_PASSED = "not-passed"
    LISTED = "listed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """Some tests of an attempt."""

    cases: Sequence[CaseChange]
    counts: Mapping[CaseFilter, int]
    chosen: CaseFilter
    number: int
    count: int


def select_cases(cases: Sequence[CaseChange], chosen: CaseFilter | None, number: int) -> CasePage:
    """The tests that were asked for; if none were, those that changed, or all where none did."""
    fitting = {name: [case for case in cases if fits(case)] for name, fits in _FILTERS.items()}
    if chosen is None:
        chosen = CaseFilter.CHANGED if fitting[CaseFilter.CHANGED] else CaseFilter.ALL
    left = fitting[chosen]
    count = max(1, -(-len(left) // CASES_PER_PAGE))
    number = min(number, count)
    return CasePage(
        cases=left[(number - 1) * CASES_PER_PAGE : number * CASES_PER_PAGE],
        counts={name: len(own) for name, own in fitting.items()},
        chosen=chosen,
        number=number,
        count=count,
    )


_FILTERS: Mapping[CaseFilter, Callable[[CaseChange], bool]] = {
    CaseFilter.CHANGED: lambda case: case.baseline is not case.final,
    CaseFilter.NOT_PASSED: lambda case: case.final is not CaseOutcome.PASSED,
    CaseFilter.LISTED: lambda case: case.listed is not None,
    CaseFilter.ALL: lambda _case: True,
}
