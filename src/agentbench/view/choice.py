"""Which attempts of a run a page shows, in which order: all of it is in the address."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any
from urllib.parse import urlencode

from agentbench.report.rows import verdict_word
from agentbench.runs.headline import Headline
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.view.query import member, whole_number

PAGE = 100
"""Attempts on one page."""


class VerdictWord(StrEnum):
    """What may have become of an attempt."""

    RESOLVED = "resolved"
    FAILED = "failed"
    QUARANTINED = "quarantined"


class Tries(StrEnum):
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
class Choice:
    """A filter, an order and a page."""

    text: str = ""
    task: str = ""
    verdict: VerdictWord | None = None
    reason: FailureReason | None = None
    fault: Fault | None = None
    tries: Tries = Tries.LAST
    sort: SortKey = SortKey.TASK
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Choice":
        """What an address asks for.

        Raises:
            BadQueryError: it asks for something that there is not.
        """
        sort = query.get("sort", "")
        return cls(
            text=query.get("q", "").strip(),
            task=query.get("task", ""),
            verdict=member(VerdictWord, "verdict", query),
            reason=member(FailureReason, "reason", query),
            fault=member(Fault, "fault", query),
            tries=member(Tries, "tries", query) or Tries.LAST,
            sort=member(SortKey, "sort", {"sort": sort.removeprefix("-")}) or SortKey.TASK,
            descending=sort.startswith("-"),
            page=whole_number("page", query, default=1),
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
            "tries": "" if new.tries is Tries.LAST else new.tries,
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
class Page:
    """The part of some attempts that fits a page."""

    numbers: Sequence[int]  # of the headlines
    total: int  # that the filter let through
    number: int
    count: int  # of pages, at least 1

    @property
    def first(self) -> int:
        """Which of all the first one is, counted from 1; 0 where there is none."""
        return (self.number - 1) * PAGE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """Which of all the last one is."""
        return self.first + len(self.numbers) - 1 if self.total else 0


def choose(headlines: Sequence[Headline], numbers: Sequence[int], choice: Choice) -> Page:
    """The page of attempts that was asked for, or the last one where there are fewer.

    Args:
        headlines: All of a run.
        numbers: Which of them are looked at, in the order of their end.
        choice: What was asked for.
    """
    wanted = tuple(_tests_of(choice))
    left = [number for number in numbers if all(fits(headlines[number]) for fits in wanted)]
    left = _in_order(headlines, left, choice)
    count = max(1, -(-len(left) // PAGE))
    page = min(choice.page, count)
    shown = left[(page - 1) * PAGE : page * PAGE]
    return Page(numbers=shown, total=len(left), number=page, count=count)


def _tests_of(choice: Choice) -> Iterator[Callable[[Headline], bool]]:
    if choice.task:
        yield lambda told: told.task_id == choice.task
    if choice.verdict is not None:
        yield lambda told: verdict_word(told) == choice.verdict
    if choice.reason is not None:
        yield lambda told: told.failure_reason is choice.reason
    if choice.fault is not None:
        yield lambda told: told.fault is choice.fault
    for word in choice.text.casefold().split():
        yield lambda told, word=word: word in _searched(told)  # type: ignore[misc]  # a default has no type


def _searched(told: Headline) -> str:
    reason = told.failure_reason or ""
    return f"{told.place} {reason} {told.agent} {told.detail}".casefold()


def _in_order(headlines: Sequence[Headline], numbers: list[int], choice: Choice) -> list[int]:
    if choice.sort is SortKey.ENDED:
        return numbers[::-1] if choice.descending else numbers
    # Alike ones by task and attempt, whichever way the column goes.
    numbers.sort(key=lambda number: (headlines[number].task_id, headlines[number].attempt))
    key = _KEYS[choice.sort]
    numbers.sort(key=lambda number: key(headlines[number]), reverse=choice.descending)
    return numbers


_KEYS: Mapping[SortKey, Callable[[Headline], Any]] = {
    SortKey.TASK: lambda told: told.task_id,
    SortKey.ATTEMPT: lambda told: told.attempt,
    SortKey.VERDICT: verdict_word,
    SortKey.REASON: lambda told: told.failure_reason.precedence if told.failure_reason else 0,
    SortKey.FAULT: lambda told: told.fault or "",
    SortKey.FIXED: lambda told: told.counts.fixed,
    SortKey.SECONDS: lambda told: told.total_s,
    SortKey.COST: lambda told: told.cost_usd if told.cost_usd is not None else -inf,
}
