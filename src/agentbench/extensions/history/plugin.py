"""The commands `agentbench tasks new` and `agentbench tasks mine`."""

from agentbench.core.extensions import Offer, Slot


def _new() -> object:
    from agentbench.extensions.history.command import new_task

    return new_task


def _mine() -> object:
    from agentbench.extensions.history.command import mine

    return mine


OFFERS = {
    Slot.TASK_COMMAND: {
        "new": Offer("Make a task of a fix.", _new),
        "mine": Offer("Make tasks of a repository's own fixes.", _mine),
    },
}
