"""What tests of stages share: a real back end, and a desk for an attempt's files."""

from pathlib import Path

import pytest

from agentbench.sandbox.interface import SandboxProvider
from tests.fakes.staging import Desk, local_provider


@pytest.fixture(scope="session")
def provider() -> SandboxProvider:
    """A real back end of this machine."""
    return local_provider()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Where an attempt's files end up."""
    folder = tmp_path / "attempt"
    folder.mkdir()
    return Desk(folder)
