"""What tests of the web page share: runs to look at, a client without a server, and a server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from agentbench.core.access_policy import AccessPolicy
from agentbench.extensions.view.app import make_app
from agentbench.runs.store.reading import read_run
from benchmarks.synthetic_run import Wanted, write_run
from tests.cli.conftest import cli as cli
from tests.cli.conftest import runs_dir as runs_dir
from tests.extensions.view.server import serving

PORT = 8766


class Shown(NamedTuple):
    """Two runs of the same tasks, in one folder."""

    folder: Path
    first: str
    second: str

    def place(self, wanted: Callable[..., bool], run: str | None = None) -> str:
        """The place of the first attempt of the first run, or another, that is wanted."""
        reading = read_run(self.folder / (run or self.first))
        return next(told.folder_name for told in reading.summaries if wanted(told))

    def address(self, wanted: Callable[..., bool] = lambda _told: True) -> str:
        """The address of an attempt of the first run."""
        return f"/runs/{self.first}/attempts/{self.place(wanted)}"


def client_of(folder: Path, **more) -> TestClient:
    """A client of the page over a folder, in this process."""
    guard = AccessPolicy(**{"host": "127.0.0.1", "port": PORT, **more})
    return TestClient(
        make_app(folder, guard), base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False
    )


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Runs that nobody changes."""
    folder = tmp_path_factory.mktemp("shown")
    made = (
        write_run(Wanted(runs_dir=folder, tasks=60, attempts=2, agent=agent, folders=True))
        for agent in ("alpha", "beta")
    )
    first, second = (run.name for run in made)
    return Shown(folder, first, second)


@pytest.fixture(scope="session")
def client(shown: Shown) -> TestClient:
    """A client of the page over those runs."""
    return client_of(shown.folder)


@pytest.fixture(scope="module")
def server(shown: Shown) -> Iterator[str]:
    """The address of a real server over those runs."""
    with serving(shown.folder) as found:
        yield found.address
