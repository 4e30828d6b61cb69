"""Nodes of a cluster on this machine."""

from pathlib import Path
from typing import Any

from agentbench.extensions.ray.ray_cluster import SLOT

MODEL_KEY = "sk-of-the-nodes"
"""What nodes have in their environment."""


def add_node(cluster: Any, cache: Path, *, slots: int = 2) -> Any:
    cache.mkdir(parents=True, exist_ok=True)
    node = cluster.add_node(
        num_cpus=8,
        resources={SLOT: slots},
        object_store_memory=80 << 20,
        env_vars={"AGENTBENCH_CACHE": str(cache), "OPENAI_API_KEY": MODEL_KEY},
    )
    cluster.wait_for_nodes()
    return node
