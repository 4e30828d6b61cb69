"""The command `agentbench redteam`."""

from collections.abc import Callable

from agentbench.core.extensions import Offer, Slot


def _command() -> Callable[..., None]:
    from agentbench.extensions.redteam.command import redteam

    return redteam


OFFERS = {Slot.COMMAND: {"redteam": Offer("Try kinds of cheats against your own tasks.", _command)}}
