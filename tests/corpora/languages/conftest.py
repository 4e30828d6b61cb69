"""What these corpora are tried on."""

from tests.e2e import conftest as shared

bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
environ = shared.environ
walled_bench = shared.walled_bench
