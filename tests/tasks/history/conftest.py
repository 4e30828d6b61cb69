import pytest

from agentbench.tasks.history.commit import mirror_of_history
from tests.fakes.staging import mirrors
from tests.tasks.history.pocket import Pocket


@pytest.fixture(scope="session")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="session")
def head(pocket):
    return mirror_of_history(pocket.url, mirrors())
