"""What all tests share: Docker tests run where an engine answers, and say so where none does."""

import os
import random
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.environments import with_shared_environments
from tests.needed import DOCKER
from tests.tiers import Tier, chosen_tier

# Their asserts are rewritten only if asked for before they are imported.
pytest.register_assert_rewrite("tests.e2e.bench", "tests.corpora.cheats.trials")

pytest_plugins = ["tests.browser", "tests.tier_plugin"]

# Property tests bound no time: a loaded machine is not a defect. The gate tries the same examples
# each time, and fewer of them; the soak tries new ones.
_UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("soak", deadline=None, suppress_health_check=_UNHURRIED)
settings.register_profile(
    "gate", settings.get_profile("soak"), max_examples=40, derandomize=True, database=None
)

# A shell without job control starts what it puts into the background with Ctrl-C ignored, and
# programs that tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CHAOS_SEED = "AGENTBENCH_CHAOS_SEED"
"""What fault-injection tests draw from; the header names it, and it can be set to repeat a run."""
_SEED_OF_THE_GATE = "20261124"


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed where nobody did: the soak draws one. The workers of xdist inherit it."""
    is_soak = chosen_tier(config) is Tier.SOAK
    drawn = str(random.SystemRandom().randrange(10**9)) if is_soak else _SEED_OF_THE_GATE
    os.environ.setdefault(CHAOS_SEED, drawn)
    settings.load_profile("soak" if is_soak else "gate")


def pytest_report_header(config: pytest.Config) -> str:
    """Say what repeats this session."""
    return f"tier: {chosen_tier(config)}; {CHAOS_SEED}={os.environ[CHAOS_SEED]}"


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests never read or write the user's own cache."""
    cache = with_shared_environments(tmp_path_factory.mktemp("agentbench-cache"), tmp_path_factory)
    os.environ["AGENTBENCH_CACHE"] = str(cache)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail, what needs an engine that is not there."""
    if item.get_closest_marker("docker") is None:
        return
    refusal = _engine_refusal()
    if refusal is not None:
        DOCKER.refuse(refusal)


@cache
def _engine_refusal() -> str | None:
    from agentbench.errors import SandboxError, UnavailableError
    from agentbench.sandbox.docker.engine import Engine

    try:
        Engine.connect()
    except (UnavailableError, SandboxError) as error:
        return str(error).splitlines()[0]
    return None


@pytest.fixture(scope="session")
def catalogue() -> Path:
    """The shipped tasks."""
    return Path(__file__).parents[1] / "tasks"
