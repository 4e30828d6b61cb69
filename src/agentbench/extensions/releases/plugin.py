"""The command `agentbench tasks import release`."""

from agentbench.core.extensions import Offer, Slot


def _import() -> object:
    from agentbench.extensions.releases.command import import_release

    return import_release


OFFERS = {
    Slot.TASK_IMPORT: {"release": Offer("Make a task of two releases of a package.", _import)},
}
