import pytest

from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.environments import Environments
from agentbench.curation.history.making import Origin
from agentbench.runs.options import RunOptions
from agentbench.tasks.history.commit import mirror_of_history
from tests.fakes.staging import local_provider, mirrors
from tests.tasks.history.pocket import Pocket


@pytest.fixture(scope="session")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="session")
def head(pocket):
    return mirror_of_history(pocket.url, mirrors())


@pytest.fixture
def options(tmp_path):
    return RunOptions(sandbox=local_provider().name, runs_dir=tmp_path / "runs", attempts=2)


@pytest.fixture
def origin(pocket, options):
    return Origin(
        url=pocket.url,
        mirrors=mirrors(),
        environments=Environments(options, Proposal()),
        as_files=True,
    )
