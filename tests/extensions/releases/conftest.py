"""What tests of releases share: an index of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import cli as cli
from tests.cli.conftest import sandbox as sandbox
from tests.extensions.releases.local_index import NEW, OLD, LocalIndex, local_index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LocalIndex]:
    """An index on this machine that has two releases of `demo`."""
    with local_index(tmp_path / "index") as served:
        served.add("demo", "1.0", OLD)
        served.add("demo", "1.1", NEW)
        yield served
