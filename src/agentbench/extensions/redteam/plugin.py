"""The command `agentbench redteam`."""

from collections.abc import Callable, Mapping

from agentbench.core.extensions import Offer, Slot


def _command() -> Callable[..., None]:
    from agentbench.extensions.redteam.command import redteam

    return redteam


def _words() -> Mapping[str, str]:
    from agentbench.extensions.redteam.kinds import KINDS

    return {kind.name: f"(redteam, {kind.target}) {kind.title}\n{kind.about}" for kind in KINDS}


OFFERS = {
    Slot.COMMAND: {"redteam": Offer("Try kinds of cheats against your own tasks.", _command)},
    Slot.WORDS: {"redteam": Offer("The kinds of cheats.", _words)},
}
