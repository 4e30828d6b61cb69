"""The ways to a base for the base image."""

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.base_image import base_image_sources
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.snapshots import pull_image
from tests.sandbox.docker_fixtures import engine

__all__ = ["engine"]


def test_a_registry_is_asked_before_a_debian_is_made() -> None:
    assert [base.kind for base in base_image_sources("3.11")] == ["slim-3.11", "debian-bookworm"]
    assert [base.kind for base in base_image_sources("3.9")] == ["slim-3.9", "debian-bullseye"]


def test_a_python_that_no_debian_brings_has_one_way() -> None:
    assert [base.kind for base in base_image_sources("3.12")] == ["slim-3.12"]


@pytest.mark.docker
def test_a_registry_that_is_not_there_is_named(engine: Engine) -> None:
    with pytest.raises(SandboxError, match="localhost:1/no/such:image"):
        pull_image(engine, "localhost:1/no/such:image")


@pytest.mark.docker
def test_a_missing_slim_image_is_pulled_and_its_pull_is_told(engine: Engine) -> None:
    said: list[str] = []
    (slim,) = base_image_sources("0.0")
    with pytest.raises(SandboxError, match=r"python:0\.0-slim"):
        slim.fetch(engine, said.append)
    assert said == ["pulling python:0.0-slim"]
