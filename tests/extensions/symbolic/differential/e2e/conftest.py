"""The sandbox of the audits."""

from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider


@pytest.fixture(scope="session")
def bubblewrap(cache_dir: Path) -> BubblewrapProvider:
    try:
        return BubblewrapProvider.connect(cache_dir=cache_dir)
    except UnavailableError as fault:
        pytest.skip(str(fault))
