"""`agentbench validate --strength` and `--fairness`."""

from types import ModuleType

from agentbench.core.extensions import Offer, Slot


def _scores() -> ModuleType:
    from agentbench.extensions.test_quality import task_scores

    return task_scores


def _fairness() -> ModuleType:
    from agentbench.extensions.test_quality import task_fairness

    return task_fairness


OFFERS = {
    Slot.TASK_SCORE: {
        "strength": Offer("The mutation score of hidden tests.", _scores),
        "fairness": Offer("The right fixes that hidden tests reject.", _fairness),
    }
}
