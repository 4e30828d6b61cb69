"""The command `agentbench view`, and `agentbench report --format html`."""

from agentbench.core.extensions import Offer, Slot


def _view() -> object:
    from agentbench.extensions.view.command import view

    return view


def _page() -> object:
    from agentbench.core import extras

    extras.require("--format html", extras.HTML)
    from agentbench.extensions.view.saved_page import write_page

    return write_page


def _page_with_behaviour() -> object:
    from agentbench.core import extras

    extras.require("--format html", extras.HTML)
    from agentbench.extensions.view.saved_page import write_page_with_behaviour

    return write_page_with_behaviour


OFFERS = {
    Slot.COMMAND: {"view": Offer("Show runs as a web page, updated while they run.", _view)},
    Slot.REPORT_FORMAT: {"html": Offer("One page without other files.", _page)},
    Slot.REPORT_WITH_BEHAVIOUR: {"html": Offer("The same page.", _page_with_behaviour)},
}
