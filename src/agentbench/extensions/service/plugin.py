"""The command `agentbench serve`, and `agentbench.RemoteJudge`."""

from agentbench.core.extensions import Offer, Slot


def _serve() -> object:
    from agentbench.extensions.service.command import serve

    return serve


def _remote_judge() -> object:
    from agentbench.core import extras

    extras.require("RemoteJudge", extras.SERVE_CLIENT)
    from agentbench.extensions.service.client import RemoteJudge

    return RemoteJudge


OFFERS = {
    Slot.COMMAND: {
        "serve": Offer("Judge changes over HTTP, for training loops and other programs.", _serve)
    },
    Slot.NAME: {"RemoteJudge": Offer("The calls of Judge over HTTP.", _remote_judge)},
}
