import pytest
import yaml

from agentbench.importers.terminal_bench import (
    ComposeService,
    UnsupportedComposeError,
    single_service,
)
from tests.importers.terminal_bench.terminal_folders import COMPOSE


def test_the_templates_file_is_one_container_of_its_dockerfile():
    assert single_service(yaml.safe_load(COMPOSE)) == ComposeService(env={"GREETING": "hello"})


def test_a_ready_image_needs_no_dockerfile():
    found = single_service({"services": {"client": {"image": "a:1", "environment": {"A": 1}}}})
    assert found == ComposeService(dockerfile=None, image="a:1", env={"A": "1"})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "services: names no container"),
        ({"services": {}}, "services: names no container"),
        ({"services": {"a": {}, "b": {}}}, r"services: starts 2 \(a, b\)"),
        ({"services": {"a": []}}, "services.a: is not a table"),
        ({"services": {"a": {}}}, "services.a: has neither a build nor the name of an image"),
        (
            {"services": {"a": {"build": ".", "privileged": True}}},
            "services.a.privileged: requires",
        ),
        ({"services": {"a": {"build": ".", "ports": ["80"]}}}, "services.a.ports: requires"),
        ({"services": {"a": {"build": ".", "volumes": ["/data:/d"]}}}, "services.a.volumes: mount"),
        ({"services": {"a": {"build": "sub"}}}, "services.a.build.context: is not the task's own"),
        ({"services": {"a": {"build": {"args": {}}}}}, "services.a.build: has more than"),
        (
            {"services": {"a": {"build": ".", "environment": ["KEY=${API_KEY}"]}}},
            "services.a.environment.KEY: would be taken from the host",
        ),
    ],
)
def test_more_than_a_plain_container_is_refused_by_its_key(document, said):
    with pytest.raises(UnsupportedComposeError, match=f"^{said}"):
        single_service(document)
