"""`--executor ray`."""

from agentbench.core.extensions import Offer, Slot


def _cluster() -> object:
    from agentbench.core.extras import RAY, require

    require("--executor ray", RAY)
    from agentbench.extensions.ray.cluster import RayCluster

    return RayCluster()


OFFERS = {Slot.EXECUTOR: {"ray": Offer("Attempts on the nodes of a Ray cluster.", _cluster)}}
