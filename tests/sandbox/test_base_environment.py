from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.folder_sandbox import sandbox_folders
from agentbench.sandbox.host_environment import EnvironmentStore, host_python
from agentbench.sandbox.snapshot_store import SnapshotStore


@pytest.fixture
def environments(tmp_path: Path) -> EnvironmentStore:
    store = SnapshotStore(folder=tmp_path / "images", prefix="x-image", owner=None)
    return EnvironmentStore(store=store, python=host_python(), back_end="bubblewrap")


def test_an_environment_is_made_once(environments: EnvironmentStore, tmp_path: Path) -> None:
    made: list[str] = []

    def make(key: str) -> None:
        made.append(key)
        with sandbox_folders(tmp_path / "live", "", None) as folders:
            environments.store.save(key, folders)

    first = environments.resolve(None, None, make)
    second = environments.resolve(environments.python.image_name, None, make)
    assert first == second
    assert len(made) == 1


@pytest.mark.parametrize("image", ["python:3.8-slim", "agentbench/python:2.7"])
def test_another_image_is_refused_by_name(environments: EnvironmentStore, image: str) -> None:
    with pytest.raises(UnavailableError, match=f"{image}: use a container engine"):
        environments.resolve(image, None, lambda _key: None)


def test_a_workspace_of_an_images_own_is_refused_in_one_line(
    environments: EnvironmentStore,
) -> None:
    with pytest.raises(UnavailableError, match=r"\(/app, /tests, /logs\): use a container engine"):
        environments.resolve(None, None, lambda _key: None, PurePosixPath("/app"))


def test_why_none_could_be_made_is_told(environments: EnvironmentStore) -> None:
    def make(_key: str) -> None:
        raise SandboxError("No module named venv")

    with pytest.raises(UnavailableError, match="No module named venv"):
        environments.resolve(None, None, make)
