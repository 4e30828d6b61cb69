"""What all tests share: Docker tests run where an engine answers, and say so where none does."""

import os
import random
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.needed import DOCKER, INDEX

# Their asserts are rewritten only if asked for before they are imported.
pytest.register_assert_rewrite("tests.e2e.bench", "tests.integrity.trials")

pytest_plugins = ["tests.browser"]

# Property tests bound no time: a loaded machine is not a defect.
_UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("agentbench", deadline=None, suppress_health_check=_UNHURRIED)
settings.load_profile("agentbench")

# A shell without job control starts what it puts into the background with Ctrl-C ignored, and
# programs that tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_TESTS = Path(__file__).parent
_SLOW_FIRST = {"chaos": 0, "e2e": 1, "integrity": 2, "agents": 3, "mcp": 4, "sandbox": 5}
CHAOS_SEED = "AGENTBENCH_CHAOS_SEED"
"""What fault-injection tests draw from: shown at the top, and set to repeat a session's choices."""


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed where nobody chose one; the workers of xdist inherit it."""
    del config
    os.environ.setdefault(CHAOS_SEED, str(random.SystemRandom().randrange(10**9)))


def pytest_report_header(config: pytest.Config) -> str:
    """Say what repeats this session."""
    del config
    return f"{CHAOS_SEED}={os.environ[CHAOS_SEED]}"


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests never read or write the user's own cache."""
    os.environ["AGENTBENCH_CACHE"] = str(tmp_path_factory.mktemp("agentbench-cache"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files whose few tests take long, or one worker is at them when all is done."""
    items.sort(key=lambda item: _SLOW_FIRST.get(item.path.relative_to(_TESTS).parts[0], 9))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail, what needs an engine that is not there."""
    if item.get_closest_marker("docker") is None:
        return
    refusal = _engine_refusal()
    if refusal is not None:
        DOCKER.refuse(refusal)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many Docker tests did not run, and why."""
    DOCKER.tell(terminalreporter)
    INDEX.tell(terminalreporter)


@cache
def _engine_refusal() -> str | None:
    from agentbench.errors import SandboxError, UnavailableError
    from agentbench.sandbox.docker_engine import Engine

    try:
        Engine.connect()
    except (UnavailableError, SandboxError) as error:
        return str(error).splitlines()[0]
    return None


@pytest.fixture(scope="session")
def catalogue() -> Path:
    """The shipped tasks."""
    return Path(__file__).parents[1] / "tasks"
