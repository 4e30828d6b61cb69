from tests.e2e.conftest import cache_dir as cache_dir
from tests.e2e.conftest import docker as docker
from tests.e2e.conftest import environ as environ
