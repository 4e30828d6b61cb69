"""The back ends of the end-to-end tests, for the corpus of histories."""

from tests.e2e import conftest as shared

bench = shared.bench
bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
docker = shared.docker
walled_bench = shared.walled_bench
