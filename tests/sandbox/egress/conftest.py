"""The back ends that can keep commands to a list of hosts, and one that cannot."""

from tests.models.gateway import conftest as relayed
from tests.sandbox import docker_fixtures

bubblewrap = relayed.bubblewrap
cache_dir = relayed.cache_dir
docker = relayed.docker
elsewhere = relayed.elsewhere
process = relayed.process
engine = docker_fixtures.engine
foreign_image = docker_fixtures.foreign_image
