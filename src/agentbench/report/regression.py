"""Whether a second run is worse than a first one: what a gate in CI asks."""

from agentbench.errors import InputError
from agentbench.report.comparison import Comparison
from agentbench.report.harmless import harmless
from agentbench.report.significance import statement

_NAMED = 10  # tasks


def regression(comparison: Comparison, *, strict: bool) -> str | None:
    """What is worse in the second run, in one line; None where nothing is.

    Of judged attempts, a rate that is lower by a statistically significant difference is worse.
    Attempts that were lost to the task or the infrastructure say nothing about the agent.

    Args:
        comparison: the first run is what is to be held.
        strict: A single task is enough, significant or not, and whoever's the fault is.

    Raises:
        InputError: nothing can be said, since no task has a judged attempt in both runs.
    """
    if strict:
        return _lost(comparison)
    judged = comparison.judged
    if judged is None:
        raise InputError(
            f"cannot tell a regression: of {comparison.tasks} shared tasks none has an attempt in "
            "both runs that was not lost to the task or the infrastructure; run it again"
        )
    if judged.difference < 0 and judged.is_significant:
        told = statement(judged)
        return f"regression: {told.difference}, {told.interval}. {told.verdict}. {told.test}."
    return None


def doubts(comparison: Comparison, *, strict: bool) -> tuple[str, ...]:
    """Why the answer that there is no regression may mean little."""
    judged = comparison.judged
    if strict or judged is None:
        return ()
    said = []
    if judged.detectable is None:
        said.append(
            f"{judged.tasks} tasks are too few to detect any regression: add tasks, or use --strict"
        )
    unjudged = comparison.tasks - judged.tasks
    if unjudged:
        said.append(f"{unjudged} of {comparison.tasks} shared tasks have no judged attempt to test")
    return tuple(said)


def _lost(comparison: Comparison) -> str | None:
    names = [harmless(flip.task_id) for flip in comparison.lost]
    if not names:
        return None
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"regression: {len(names)} resolved less often: {', '.join(names[:_NAMED])}{more}"
