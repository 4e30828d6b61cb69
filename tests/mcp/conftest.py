import pytest

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
