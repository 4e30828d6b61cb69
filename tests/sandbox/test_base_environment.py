from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.folder_sandbox import (
    FolderProvider,
    FolderSandbox,
    SandboxFolders,
    SandboxRequest,
    sandbox_folders,
)
from agentbench.sandbox.host_environment import host_python
from agentbench.sandbox.snapshot_store import SnapshotStore, StoredState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider(FolderProvider):
    """Makes environments as a test says, and opens no sandboxes.

    The three methods that only an open sandbox needs are abstract, and no test here may reach them.
    """

    make: Callable[[str], None]

    @property
    def name(self) -> str:
        return "bubblewrap"

    def _fill(self, state: StoredState, folders: SandboxFolders) -> Path | None:
        raise NotImplementedError

    def _sandbox(self, request: SandboxRequest) -> FolderSandbox:
        raise NotImplementedError

    def _venv(self, folders: SandboxFolders) -> PurePosixPath:
        raise NotImplementedError

    def _make_environment(self, key: str) -> None:
        self.make(key)


def provider(folder: Path, make: Callable[[str], None] = lambda _key: None) -> FolderProvider:
    return _Provider(
        python=host_python(), user=None, cache=folder, live=folder, prefix="", environ={}, make=make
    )


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    made: list[str] = []
    store = SnapshotStore(folder=tmp_path / "images", prefix="bubblewrap-image", owner=None)

    def make(key: str) -> None:
        made.append(key)
        with sandbox_folders(tmp_path / "live", "", None) as folders:
            store.save(key, folders.root)

    environments = provider(tmp_path, make)
    first = environments.resolve_image(None)
    second = environments.resolve_image(environments.python.image_name)
    assert first == second
    assert len(made) == 1


@pytest.mark.parametrize("image", ["python:3.8-slim", "agentbench/python:2.7"])
def test_another_image_is_refused_by_name(tmp_path: Path, image: str) -> None:
    with pytest.raises(UnavailableError, match=f"{image}: use a container engine"):
        provider(tmp_path).resolve_image(image)


def test_a_workspace_of_an_images_own_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"\(/app, /tests, /logs\): use a container engine"):
        provider(tmp_path).resolve_image(None, workdir=PurePosixPath("/app"))


def test_why_none_could_be_made_is_told(tmp_path: Path) -> None:
    def make(_key: str) -> None:
        raise SandboxError("No module named venv")

    with pytest.raises(UnavailableError, match="No module named venv"):
        provider(tmp_path, make).resolve_image(None)
