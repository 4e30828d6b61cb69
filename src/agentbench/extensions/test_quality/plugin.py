"""`agentbench validate --strength`."""

from types import ModuleType

from agentbench.core.extensions import Offer, Slot


def _scores() -> ModuleType:
    from agentbench.extensions.test_quality import task_scores

    return task_scores


OFFERS = {Slot.TASK_SCORE: {"strength": Offer("The mutation score of hidden tests.", _scores)}}
