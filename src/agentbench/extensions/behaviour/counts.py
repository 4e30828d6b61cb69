"""How often behaviours occur in a run, and which differ between two runs beyond chance."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.run_facts import RunFolder
from agentbench.core.schema import Schema
from agentbench.extensions.behaviour.rules import behaviour_of_attempts
from agentbench.extensions.behaviour.tags import MEANINGS, AttemptBehaviour, Tag, TagMeaning
from agentbench.scoring.paired_comparison import TaskPair, holm, significance
from agentbench.scoring.statistics import ALPHA, TaskScore, wilson_interval
from agentbench.tasks.mirror import Mirrors


class TaggedAttempt(Protocol):
    """What counting needs of an attempt."""

    @property
    def task_id(self) -> str: ...
    @property
    def tags(self) -> Collection[Tag]: ...
    @property
    def unknown(self) -> Collection[Tag]: ...


class AttemptTags(NamedTuple):
    """An attempt without the evidence of its tags, for those who remember many."""

    task_id: str
    tags: frozenset[Tag]
    unknown: frozenset[Tag]

    @classmethod
    def of(cls, attempt: AttemptBehaviour) -> "AttemptTags":
        return cls(attempt.task_id, attempt.tags, frozenset(attempt.unknown))


class TagCount(Schema):
    """How many attempts have a tag, of those where it can be known."""

    tag: Tag
    """The tag."""
    count: int
    """The number of attempts with it."""
    known: int
    """The number of attempts where it can be known."""
    low: float
    """The lower end of the 95 % Wilson interval of the share."""
    high: float
    """The upper end."""


class TagDifference(Schema):
    """A tag in two runs over their common tasks."""

    tag: Tag
    """The tag."""
    tasks: int
    """The number of tasks where both runs have an attempt for which it can be known."""
    first: float
    """The mean of the tasks' shares of attempts with the tag, in the first run."""
    second: float
    """The same in the second run."""
    p_value: float
    """Of a permutation test over tasks, corrected for the number of tags (Holm 1979)."""

    @property
    def is_significant(self) -> bool:
        return self.p_value < ALPHA


class CountedTag(NamedTuple):
    """A tag in several runs."""

    tag: Tag
    meaning: TagMeaning
    counts: tuple[TagCount, ...]  # of each run


def count_tags(attempts: Sequence[TaggedAttempt]) -> list[TagCount]:
    """The tags of a run, the most frequent first; a tag that no attempt has is left out."""
    return [row.counts[0] for row in count_by_run([attempts])]


def count_by_run(runs: Sequence[Sequence[TaggedAttempt]]) -> list[CountedTag]:
    """The tags of runs, the most frequent first; a tag that no attempt has is left out."""
    rows = [
        CountedTag(tag, MEANINGS[tag], tuple(_count(tag, attempts) for attempts in runs))
        for tag in Tag
    ]
    total = {row.tag: sum(each.count for each in row.counts) for row in rows}
    # Equal counts stay in the order of tags.
    return sorted((row for row in rows if total[row.tag]), key=lambda row: -total[row.tag])


def _count(tag: Tag, attempts: Sequence[TaggedAttempt]) -> TagCount:
    count = sum(tag in attempt.tags for attempt in attempts)
    known = sum(tag not in attempt.unknown for attempt in attempts)
    interval = wilson_interval(count, known)
    return TagCount(tag=tag, count=count, known=known, low=interval.low, high=interval.high)


def compare_tags(
    first: Iterable[TaggedAttempt], second: Iterable[TaggedAttempt]
) -> list[TagDifference]:
    """The tags of two runs, each task compared with itself; the surest difference comes first.

    Needs the extra `stats`.
    """
    ours, theirs = _scores(first), _scores(second)
    rows: list[tuple[Tag, list[TaskPair]]] = []
    for tag in Tag:
        before, after = ours.get(tag, {}), theirs.get(tag, {})
        pairs = [TaskPair(before[task], after[task]) for task in sorted(before.keys() & after)]
        if any(score.resolved for pair in pairs for score in pair):
            rows.append((tag, pairs))
    p_values = holm([significance(Counter(pairs)).p_value for _, pairs in rows])
    compared = [
        TagDifference(
            tag=tag,
            tasks=len(pairs),
            first=sum(pair.first.share for pair in pairs) / len(pairs),
            second=sum(pair.second.share for pair in pairs) / len(pairs),
            p_value=p_value,
        )
        for (tag, pairs), p_value in zip(rows, p_values, strict=True)
    ]
    return sorted(compared, key=lambda row: (row.p_value, -abs(row.second - row.first)))


def tags_of_attempts(run: RunFolder, mirrors: Mirrors) -> Callable[[AttemptRecord], AttemptTags]:
    """Finds the tags of a run's attempts, one record at a time."""
    behaviour_of = behaviour_of_attempts(run, mirrors)
    return lambda record: AttemptTags.of(behaviour_of(record))


def _scores(attempts: Iterable[TaggedAttempt]) -> dict[Tag, dict[str, TaskScore]]:
    """For each tag, the attempts with it and all where it can be known, by task."""
    scores: dict[Tag, dict[str, TaskScore]] = {}
    for attempt in attempts:
        for tag in Tag:
            if tag not in attempt.unknown:
                tasks = scores.setdefault(tag, {})
                having, known = tasks.get(attempt.task_id, (0, 0))
                tasks[attempt.task_id] = TaskScore(having + (tag in attempt.tags), known + 1)
    return scores
