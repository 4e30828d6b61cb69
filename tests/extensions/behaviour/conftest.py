from tests.cli.conftest import cli as cli
from tests.cli.conftest import runs_dir as runs_dir
from tests.e2e.conftest import bubblewrap as bubblewrap
from tests.e2e.conftest import cache_dir as cache_dir
from tests.e2e.conftest import docker as docker
from tests.e2e.conftest import walled_bench as walled_bench
