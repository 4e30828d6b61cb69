"""`agentbench validate --strength` and `--fairness`, and `agentbench tasks fix-tests`."""

from collections.abc import Callable
from types import ModuleType

from agentbench.core.extensions import Offer, Slot


def _scores() -> ModuleType:
    from agentbench.extensions.test_quality import task_scores

    return task_scores


def _fairness() -> ModuleType:
    from agentbench.extensions.test_quality import task_fairness

    return task_fairness


def _fix_tests() -> Callable[..., None]:
    from agentbench.extensions.test_quality.command import fix_tests

    return fix_tests


OFFERS = {
    Slot.TASK_SCORE: {
        "strength": Offer("The mutation score of hidden tests.", _scores),
        "fairness": Offer("The right fixes that hidden tests reject.", _fairness),
    },
    Slot.TASK_COMMAND: {"fix-tests": Offer("Propose weaker assertions.", _fix_tests)},
}
