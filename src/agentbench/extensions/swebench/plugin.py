"""`agentbench tasks import swebench`, known sets, and formats of `agentbench report`."""

from agentbench.core.extensions import Offer, Slot


def _import() -> object:
    from agentbench.extensions.swebench.command import import_swebench

    return import_swebench


def _sets() -> object:
    from agentbench.extensions.swebench.task_sets import SwebenchSets

    return SwebenchSets()


def _report() -> object:
    from agentbench.extensions.swebench.report_formats import write_report

    return write_report


def _predictions() -> object:
    from agentbench.extensions.swebench.report_formats import write_predictions

    return write_predictions


def _instances() -> object:
    from agentbench.extensions.swebench.report_formats import write_instances

    return write_instances


OFFERS = {
    Slot.TASK_IMPORT: {"swebench": Offer("Make tasks of SWE-bench's instances.", _import)},
    Slot.TASK_SETS: {"swebench": Offer("SWE-bench and data sets in its form.", _sets)},
    Slot.REPORT_FORMAT: {
        "swebench": Offer("The report of SWE-bench's own tool.", _report),
        "predictions": Offer("The patches of a run as SWE-bench reads them.", _predictions),
    },
    Slot.REPORT_FOLDER: {"swebench": Offer("A folder for each instance's report.", _instances)},
}
