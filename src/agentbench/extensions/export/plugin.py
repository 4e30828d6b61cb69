"""The command `agentbench export`."""

from agentbench.core.extensions import Offer, Slot


def _export() -> object:
    from agentbench.extensions.export.command import export

    return export


OFFERS = {
    Slot.COMMAND: {"export": Offer("Export attempts as a data set for training.", _export)},
}
