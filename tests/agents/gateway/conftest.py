"""Real sandboxes for what runs in them."""

from pathlib import Path

import pytest

from agentbench.sandbox.process import ProcessProvider
from tests.e2e import conftest as end_to_end

bubblewrap = end_to_end.bubblewrap
cache_dir = end_to_end.cache_dir
docker = end_to_end.docker


@pytest.fixture(scope="session")
def process(cache_dir: Path) -> ProcessProvider:
    """Commands without walls."""
    return ProcessProvider.connect(cache_dir=cache_dir)
