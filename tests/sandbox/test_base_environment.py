from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.base_environment import BaseEnvironments
from agentbench.sandbox.host_python import host_python
from agentbench.sandbox.rooms import furnished
from agentbench.sandbox.snapshot_store import SnapshotStore


@pytest.fixture
def environments(tmp_path: Path) -> BaseEnvironments:
    store = SnapshotStore(folder=tmp_path / "images", prefix="x-image", owner=None)
    return BaseEnvironments(store=store, python=host_python(), back_end="bubblewrap")


def test_an_environment_is_made_once(environments: BaseEnvironments, tmp_path: Path) -> None:
    made: list[str] = []

    def make(key: str) -> None:
        made.append(key)
        with furnished(tmp_path / "live", "", None) as rooms:
            environments.store.save(key, rooms)

    first = environments.resolve(None, None, make)
    second = environments.resolve(environments.python.image_name, None, make)
    assert first == second
    assert len(made) == 1


@pytest.mark.parametrize("image", ["python:3.8-slim", "agentbench/python:2.7"])
def test_another_image_is_refused_by_name(environments: BaseEnvironments, image: str) -> None:
    with pytest.raises(UnavailableError, match=f"{image}: use a container engine"):
        environments.resolve(image, None, lambda _key: None)


def test_a_workspace_of_an_images_own_is_refused_in_one_line(
    environments: BaseEnvironments,
) -> None:
    with pytest.raises(UnavailableError, match=r"\(/app, /tests, /logs\): use a container engine"):
        environments.resolve(None, None, lambda _key: None, PurePosixPath("/app"))


def test_why_none_could_be_made_is_told(environments: BaseEnvironments) -> None:
    def make(_key: str) -> None:
        raise SandboxError("No module named venv")

    with pytest.raises(UnavailableError, match="No module named venv"):
        environments.resolve(None, None, make)
