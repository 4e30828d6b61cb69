import pytest

from agentbench.importers.history import FixSource
from agentbench.runs.options import RunOptions
from agentbench.tasks.git_history import mirror_of_head
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import EnvironmentFinder
from tests.fakes.staging import local_provider, mirrors
from tests.tasks.pocket import Pocket


@pytest.fixture(scope="session")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="session")
def head(pocket):
    return mirror_of_head(pocket.url, mirrors())


@pytest.fixture
def options(tmp_path):
    return RunOptions(sandbox=local_provider().name, runs_dir=tmp_path / "runs", attempts=2)


@pytest.fixture
def origin(pocket, options):
    return FixSource(
        url=pocket.url,
        mirrors=mirrors(),
        environments=EnvironmentFinder(options, Proposal()),
        as_files=True,
    )
