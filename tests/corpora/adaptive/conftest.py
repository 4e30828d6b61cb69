"""What the adaptive agents are tried on: the benches and the naive harness of the cheats."""

from tests.corpora.cheats import conftest as shared

bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
docker = shared.docker
docker_bench = shared.docker_bench
naive = shared.naive
walled_bench = shared.walled_bench
