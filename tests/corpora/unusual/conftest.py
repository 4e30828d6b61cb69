"""What the unusual fixes are tried on: the benches of the cheats."""

from tests.corpora.cheats import conftest as shared

bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
docker = shared.docker
docker_bench = shared.docker_bench
walled_bench = shared.walled_bench
