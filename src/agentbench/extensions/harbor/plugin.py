"""The commands `agentbench tasks import harbor` and `tasks export harbor`."""

from agentbench.core.extensions import Offer, Slot


def _import() -> object:
    from agentbench.extensions.harbor.command import import_harbor

    return import_harbor


def _export() -> object:
    from agentbench.extensions.harbor.command import export_harbor

    return export_harbor


OFFERS = {
    Slot.TASK_IMPORT: {"harbor": Offer("Make tasks of Harbor's folders.", _import)},
    Slot.TASK_EXPORT: {"harbor": Offer("Write tasks as Harbor's folders.", _export)},
}
