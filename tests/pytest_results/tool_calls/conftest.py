import pytest

from tests.pytest_results.interpreters import NEWEST, interpreter


@pytest.fixture(scope="session")
def plain_python():
    """An environment with pytest and nothing else."""
    return interpreter(f"pytest=={NEWEST}")
