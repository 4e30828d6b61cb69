"""Attempts counted by task: enough for every rate, in little memory."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agentbench.runs.headline import Headline
from agentbench.scoring.paired import Pair, Pairs
from agentbench.scoring.task_score import Scores, TaskScore
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.problem import TaskId

LOST = frozenset({Fault.TASK, Fault.INFRASTRUCTURE})
"""Whose failures leave the second denominator."""


class TaskOutcome(NamedTuple):
    """What came of the attempts at one task."""

    resolved: int = 0
    attempts: int = 0
    judged: int = 0  # those that were not lost to the task or the infrastructure

    @property
    def overall_score(self) -> TaskScore:
        """Over all attempts."""
        return TaskScore(self.resolved, self.attempts)

    @property
    def judged_score(self) -> TaskScore | None:
        """Over those that were not lost; None where all were."""
        return TaskScore(self.resolved, self.judged) if self.judged else None


class TaskOutcomes:
    """Outcomes by task; those that are alike are kept once."""

    def __init__(self, attempts: Iterable[Headline] = ()) -> None:
        """Count attempts; none is kept."""
        self.by_task: dict[TaskId, TaskOutcome] = {}
        self._alike: dict[TaskOutcome, TaskOutcome] = {}
        for attempt in attempts:
            self.add(attempt)

    def add(self, attempt: Headline) -> None:
        """Count an attempt."""
        resolved, attempts, judged = self.by_task.get(attempt.task_id, _NONE)
        outcome = TaskOutcome(
            resolved + attempt.resolved, attempts + 1, judged + (attempt.fault not in LOST)
        )
        self.by_task[attempt.task_id] = self._alike.setdefault(outcome, outcome)

    def overall(self) -> Scores:
        """How many tasks have which score over all attempts."""
        return overall_scores(Counter(self.by_task.values()))

    def judged(self) -> Scores:
        """The same without attempts lost to the task or the infrastructure."""
        scores: Counter[TaskScore] = Counter()
        for outcome, tasks in Counter(self.by_task.values()).items():
            if outcome.judged_score is not None:
                scores[outcome.judged_score] += tasks
        return scores


def overall_scores(outcomes: Mapping[TaskOutcome, int]) -> Scores:
    """How many tasks have which score over all attempts, of how many have which outcome."""
    scores: Counter[TaskScore] = Counter()
    for outcome, tasks in outcomes.items():
        scores[outcome.overall_score] += tasks
    return scores


Both = Mapping[tuple[TaskOutcome, TaskOutcome], int]
"""How many tasks came out so in two runs."""


def overall_pairs(both: Both) -> Pairs:
    """Two runs' scores over all attempts."""
    pairs: Counter[Pair] = Counter()
    for (first, second), tasks in both.items():
        pairs[Pair(first.overall_score, second.overall_score)] += tasks
    return pairs


def judged_pairs(both: Both) -> Pairs:
    """The same of judged attempts, of those tasks that have some in both runs."""
    pairs: Counter[Pair] = Counter()
    for (first, second), tasks in both.items():
        one, other = first.judged_score, second.judged_score
        if one is not None and other is not None:
            pairs[Pair(one, other)] += tasks
    return pairs


_NONE = TaskOutcome()
