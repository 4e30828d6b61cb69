"""The commands `agentbench tasks import harbor` and `tasks export harbor`, and Harbor's sets."""

from agentbench.core.extensions import Offer, Slot


def _import() -> object:
    from agentbench.extensions.harbor.command import import_harbor

    return import_harbor


def _export() -> object:
    from agentbench.extensions.harbor.command import export_harbor

    return export_harbor


def _sets() -> object:
    from agentbench.extensions.harbor.task_sets import HarborSets

    return HarborSets()


OFFERS = {
    Slot.TASK_IMPORT: {"harbor": Offer("Make tasks of Harbor's folders.", _import)},
    Slot.TASK_SETS: {"harbor": Offer("Data sets of Harbor's registry.", _sets)},
    Slot.TASK_EXPORT: {"harbor": Offer("Write tasks as Harbor's folders.", _export)},
}
