"""How often behaviours occur in a run, and which differ between two runs beyond chance."""

from collections import Counter
from collections.abc import Iterable, Sequence

from agentbench.core.schema import Schema
from agentbench.extensions.behaviour.tags import AttemptBehaviour, Tag
from agentbench.scoring.paired_comparison import TaskPair, holm, significance
from agentbench.scoring.statistics import ALPHA, TaskScore, wilson_interval


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


def count_tags(attempts: Sequence[AttemptBehaviour]) -> list[TagCount]:
    """The tags of a run, the most frequent first; a tag that no attempt has is left out."""
    found = Counter(tag for attempt in attempts for tag in attempt.tags)
    unknown = Counter(tag for attempt in attempts for tag in attempt.unknown)
    rows = []
    for tag in sorted(Tag, key=lambda each: -found[each]):  # equal counts in the order of tags
        if not (count := found[tag]):
            break
        known = len(attempts) - unknown[tag]
        interval = wilson_interval(count, known)
        row = TagCount(tag=tag, count=count, known=known, low=interval.low, high=interval.high)
        rows.append(row)
    return rows


def compare_tags(
    first: Iterable[AttemptBehaviour], second: Iterable[AttemptBehaviour]
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


def _scores(attempts: Iterable[AttemptBehaviour]) -> dict[Tag, dict[str, TaskScore]]:
    """For each tag, the attempts with it and all where it can be known, by task."""
    scores: dict[Tag, dict[str, TaskScore]] = {}
    for attempt in attempts:
        for tag in Tag:
            if tag not in attempt.unknown:
                tasks = scores.setdefault(tag, {})
                having, known = tasks.get(attempt.task_id, (0, 0))
                tasks[attempt.task_id] = TaskScore(having + (tag in attempt.tags), known + 1)
    return scores
