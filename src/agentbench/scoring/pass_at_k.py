"""What k attempts at a task are worth: pass@k, that one is resolved, and pass^k, that all are.

Both are the mean over tasks of unbiased estimates: of the C(n, k) ways to choose k of a task's n
attempts, the share that holds a resolved one (Chen et al. 2021, "Evaluating Large Language Models
Trained on Code", equation 1), or resolved ones alone (Yao et al. 2024, "tau-bench").
"""

from itertools import chain, takewhile
from typing import NamedTuple

from agentbench.scoring.task_score import Scores, TaskScore

_EACH = 10  # up to here every k is told, and then every doubling


class PassRates(NamedTuple):
    """Two rates over tasks, of k attempts at each."""

    k: int
    any_of_k: float  # pass@k
    all_of_k: float  # pass^k


def pass_rates(scores: Scores) -> tuple[PassRates, ...]:
    """Both rates for each k up to the least number of attempts that a task has.

    Above 10 only 20, 40 and so on are told, and that least number itself.
    """
    least = min((score.attempts for score in scores), default=0)
    doublings = takewhile(lambda k: k < least, (_EACH << step for step in range(1, 64)))
    chosen = chain(range(1, min(least, _EACH) + 1), doublings, [least] if least > _EACH else [])
    return tuple(pass_rates_at(scores, k) for k in chosen)


def pass_rates_at(scores: Scores, k: int) -> PassRates:
    """Both rates for one k.

    Raises:
        ValueError: k is not within 1 and the least number of attempts that a task has.
    """
    least = min((score.attempts for score in scores), default=0)
    if not 1 <= k <= least:
        raise ValueError(f"expected k from 1 to {least}, the fewest attempts at a task; found {k}")
    tasks = sum(scores.values())
    return PassRates(
        k,
        sum(count * _any(score, k) for score, count in scores.items()) / tasks,
        sum(count * _all(score, k) for score, count in scores.items()) / tasks,
    )


def _any(score: TaskScore, k: int) -> float:
    return 1.0 - _drawn(score.attempts - score.resolved, score.attempts, k)


def _all(score: TaskScore, k: int) -> float:
    return _drawn(score.resolved, score.attempts, k)


def _drawn(wanted: int, attempts: int, k: int) -> float:
    """C(wanted, k) / C(attempts, k), of numbers that never grow large."""
    share = 1.0
    for drawn in range(k):
        if drawn >= wanted or share == 0:
            return 0.0
        share *= (wanted - drawn) / (attempts - drawn)
    return share
