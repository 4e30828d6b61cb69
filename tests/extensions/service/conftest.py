"""A running service with two small tasks, which no other test judges at the same time.

A machine judges the attempts at a task in turn, so slow changes are submitted to the task `slow`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.extensions.service.running import ServiceProcess, serving
from tests.fakes.staging import own_task

StartService = Callable[..., ServiceProcess]


@pytest.fixture(scope="session")
def tasks_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    for name in ("small", "slow"):
        own_task(folder / name)
    return folder


@pytest.fixture
def start_service(tasks_folder: Path, tmp_path: Path) -> Iterator[StartService]:
    """Starts services; they end with the test."""
    with ExitStack() as stack:

        def start(*options: object, tasks: Path = tasks_folder, **more: object) -> ServiceProcess:
            """A running service."""
            return stack.enter_context(serving(tasks, tmp_path / "service", *options, **more))

        yield start


@pytest.fixture(scope="module")
def service(tasks_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A service that the tests of a file share."""
    folder = tmp_path_factory.mktemp("service")
    with serving(tasks_folder, folder, token="secret") as running:
        yield running
