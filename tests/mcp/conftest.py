import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.symbolic.sandbox import AnalysisSandboxes
from tests.environments import with_shared_environments
from tests.mcp.rows import lay_out
from tests.test_runs.interpreters import NEWEST, interpreter


@pytest.fixture(scope="session")
def plain_python():
    """An environment with pytest and nothing else."""
    return interpreter(f"pytest=={NEWEST}")


@pytest.fixture(scope="session")
def bare_python():
    """An environment without pytest."""
    return interpreter()


@pytest.fixture(scope="session")
def suites(tmp_path_factory):
    """A project with a suite for each row of the outcome table."""
    return lay_out(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def analysis_sandboxes(tmp_path_factory):
    """Fresh sandboxes of bubblewrap, or a skip that says why it does not work here."""
    cache_dir = with_shared_environments(
        tmp_path_factory.mktemp("analysis_sandboxes"), tmp_path_factory
    )
    try:
        provider = BubblewrapProvider.connect(cache_dir=cache_dir)
    except UnavailableError as fault:
        pytest.skip(str(fault))
    return AnalysisSandboxes(lambda: provider, cache_dir)
