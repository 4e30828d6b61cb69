from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.tasks.git_history import mirror_of_head
from agentbench.tasks.mirror import Mirrors
from tests.fakes import staging
from tests.tasks.folders import make_task
from tests.tasks.origins import Origin
from tests.tasks.pocket import Pocket


@pytest.fixture
def mirrors(tmp_path: Path) -> Mirrors:
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin")


@pytest.fixture
def task_folder(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str = "off-by-one", **parts: object) -> Path:
        return make_task(tmp_path / "tasks" / name, **parts)

    return make


@pytest.fixture(scope="session")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="session")
def head(pocket):
    return mirror_of_head(pocket.url, staging.mirrors())
