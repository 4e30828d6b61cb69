"""What fault-injection tests share: the session's seed, how much of them is wanted, benches."""

import os

import pytest

from tests.conftest import CHAOS_SEED
from tests.e2e.conftest import bench, bubblewrap, cache_dir, docker, environ, walled_bench
from tests.tiers import Tier, chosen_tier

__all__ = ["bench", "bubblewrap", "cache_dir", "docker", "environ", "walled_bench"]  # fixtures


@pytest.fixture(scope="session")
def chaos_seed() -> int:
    """What every random choice of these tests is drawn from."""
    return int(os.environ[CHAOS_SEED])


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether all counts are wanted (`make soak`: hours, not minutes), not a sample."""
    return chosen_tier(request.config) is Tier.SOAK
