import pytest

from tests.test_runs.interpreters import NEWEST, interpreter


@pytest.fixture(scope="session")
def plain_python():
    """An environment with pytest and nothing else."""
    return interpreter(f"pytest=={NEWEST}")
