"""How much several attempts per task tell: less than as many tasks would.

Attempts at one task succeed and fail together, so the interval of their rate is that of fewer,
independent attempts: the effective sample size, as surveys of households have it (Kish 1965).
"""

from agentbench.scoring.statistics import Interval, wilson_bounds
from agentbench.scoring.task_score import Scores


def effective_attempts(scores: Scores) -> float:
    """How many independent attempts would leave the rate over all attempts as uncertain.

    The variance of the rate is the cluster-robust one with the factor G/(G-1) for G tasks, which
    is what statsmodels' OLS on a constant gives (a test holds it to that). It is computed from the
    counts, since a base installation has no statsmodels, and a million rows need no matrix.

    Where that variance cannot be estimated (one task; or nothing or everything resolved), each
    task counts as one attempt: nobody knows then how alike its attempts are. And attempts are
    never worth more than they are many, however evenly they happen to be spread over tasks.
    """
    tasks = sum(scores.values())
    attempts = sum(score.attempts * count for score, count in scores.items())
    resolved = sum(score.resolved * count for score, count in scores.items())
    if tasks < 2 or resolved in {0, attempts}:
        return float(tasks)
    rate = resolved / attempts
    squares = sum(
        count * (score.resolved - rate * score.attempts) ** 2 for score, count in scores.items()
    )
    variance = squares / attempts**2 * tasks / (tasks - 1)
    if variance * attempts <= rate * (1 - rate):
        return float(attempts)
    return rate * (1 - rate) / variance


def clustered_interval(scores: Scores, *, confidence: float = 0.95) -> Interval:
    """The Wilson interval of the rate over all attempts, clustered by task; never of no width."""
    attempts = sum(score.attempts * count for score, count in scores.items())
    if not attempts:
        return Interval(0.0, 1.0)
    resolved = sum(score.resolved * count for score, count in scores.items())
    return wilson_bounds(resolved / attempts, effective_attempts(scores), confidence=confidence)
