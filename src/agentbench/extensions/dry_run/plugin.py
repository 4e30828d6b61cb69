"""The command `agentbench agents test`."""

from agentbench.core.extensions import Offer, Slot


def _try_agent() -> object:
    from agentbench.extensions.dry_run.command import try_agent

    return try_agent


OFFERS = {Slot.AGENT_COMMAND: {"test": Offer("Try a preset with a scripted model.", _try_agent)}}
