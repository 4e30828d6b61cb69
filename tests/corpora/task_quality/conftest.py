"""What the tasks are tried on: the bench of the cheats, in bubblewrap."""

from tests.corpora.cheats import conftest as shared

bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
walled_bench = shared.walled_bench
