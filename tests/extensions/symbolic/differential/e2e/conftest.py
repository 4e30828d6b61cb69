"""The environment of the audits that are run as commands."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def environ(cache_dir: Path) -> dict[str, str]:
    """The process's own variables, with the cache of these tests."""
    return {**os.environ, "AGENTBENCH_CACHE": str(cache_dir), "NO_COLOR": "1", "COLUMNS": "200"}
