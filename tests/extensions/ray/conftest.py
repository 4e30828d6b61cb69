"""Two nodes of a Ray cluster on this machine, each with a cache of its own."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.runs.conftest import options as options
from tests.runs.conftest import provider as provider
from tests.runs.conftest import task as task
from tests.runs.conftest import workshop as workshop

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
# What ray itself does on its way up and down.
quiet_ray = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="session")
def cluster() -> Iterator[object]:
    # Ray's workers are nice: beside other tests on few cores they would hardly get a turn.
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("RAY_worker_niceness", "0")
        environ.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield from _running()


def _running() -> Iterator[object]:
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster()
    made.add_node(num_cpus=0, object_store_memory=80 << 20, include_dashboard=False)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()
