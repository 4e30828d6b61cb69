"""The agent `llm`."""

from agentbench.core.extensions import Offer, Slot


def _llm() -> object:
    from agentbench.core.extras import CLIENTS, require

    require("--agent llm", CLIENTS)
    from agentbench.extensions.llm.agent import LlmAgent

    return LlmAgent()


OFFERS = {
    Slot.AGENT: {
        "llm": Offer("a model with a few tools, in a loop of its own; needs --model", _llm)
    },
}
