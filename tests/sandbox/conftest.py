"""What tests of sandboxes share: telling assertions in the suite, and one real bubblewrap."""

from collections.abc import Iterator

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.interface import ImageId, Sandbox
from tests.environments import with_shared_environments

pytest.register_assert_rewrite(
    "tests.e2e.engine_attempts",
    "tests.sandbox.conformance",
    "tests.sandbox.conformance_commands",
    "tests.sandbox.conformance_disk",
    "tests.sandbox.conformance_endings",
    "tests.sandbox.conformance_isolation",
    "tests.sandbox.conformance_limits",
    "tests.sandbox.conformance_snapshots",
    "tests.sandbox.conformance_trees",
)


@pytest.fixture(scope="session")
def bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapProvider:
    """The back end, or a skip that says why it does not work here."""
    cache = with_shared_environments(tmp_path_factory.mktemp("bubblewrap"), tmp_path_factory)
    try:
        return BubblewrapProvider.connect(cache_dir=cache)
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def bubblewrap_image(bubblewrap: BubblewrapProvider) -> ImageId:
    """Its one environment; making it takes some seconds."""
    return bubblewrap.resolve_image(None)


@pytest.fixture
def walled(bubblewrap: BubblewrapProvider, bubblewrap_image: ImageId) -> Iterator[Sandbox]:
    """A fresh sandbox of bubblewrap."""
    from tests.sandbox.conformance_base import LIMITS

    with bubblewrap.open(bubblewrap_image, limits=LIMITS, network=False) as sandbox:
        yield sandbox
