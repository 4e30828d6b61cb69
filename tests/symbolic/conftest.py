from pathlib import Path

import pytest

from agentbench.sandbox.bubblewrap import BubblewrapProvider


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def provider(cache_dir):
    return BubblewrapProvider.connect(cache_dir=cache_dir)
