from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.tasks.mirror import Mirrors
from tests.tasks.folders import make_task
from tests.tasks.origins import Origin


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
