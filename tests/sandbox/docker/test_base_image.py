import io
import tarfile

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.base_image import base_image_sources, build_context, recipe_hash
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.snapshots import pull_image
from agentbench.sandbox.python_stacks import STACKS, stack_for
from agentbench.sandbox.toolchains import parse_tools
from tests.sandbox.docker_fixtures import engine

__all__ = ["engine"]


def test_registry_comes_before_a_debian_bootstrap() -> None:
    assert [base.kind for base in base_image_sources("3.11")] == ["slim-3.11", "debian-bookworm"]
    assert [base.kind for base in base_image_sources("3.9")] == ["slim-3.9", "debian-bullseye"]


def test_python_without_a_debian_release_has_one_source() -> None:
    assert [base.kind for base in base_image_sources("3.12")] == ["slim-3.12"]


def test_tools_come_from_the_release_that_has_them() -> None:
    own = base_image_sources("3.11", parse_tools(["go"], "3.11"))
    assert [base.kind.rpartition("-tools-")[0] for base in own] == [
        "slim-3.11-bookworm",
        "debian-bookworm",
    ]
    (other,) = base_image_sources("3.11", parse_tools(["node=20"], "3.11"))
    assert other.kind.startswith("slim-3.11-trixie-tools-")
    assert other.packages == ("nodejs", "npm")


@pytest.mark.docker
def test_unreachable_registry_is_named(engine: Engine) -> None:
    with pytest.raises(SandboxError, match="localhost:1/no/such:image"):
        pull_image(engine, "localhost:1/no/such:image")


@pytest.mark.docker
def test_missing_slim_image_is_pulled_with_a_progress_line(engine: Engine) -> None:
    reported: list[str] = []
    (slim,) = base_image_sources("0.0")
    with pytest.raises(SandboxError, match=r"python:0\.0-slim"):
        slim.fetch(engine, reported.append)
    assert reported == ["pulling python:0.0-slim"]


_IN_THE_GATE = ("3.9", "3.11")


def test_recipe_hash_depends_on_base_and_requirements() -> None:
    assert recipe_hash("slim-3.11", "3.11") == recipe_hash("slim-3.11", "3.11")
    assert recipe_hash("slim-3.11", "3.11") != recipe_hash("debian-bookworm", "3.11")
    assert recipe_hash("slim-3.9", "3.9") != recipe_hash("slim-3.9", "3.11")


@pytest.mark.parametrize(
    "python",
    [pytest.param(each, marks=() if each in _IN_THE_GATE else pytest.mark.soak) for each in STACKS],
)
def test_build_context_has_the_dockerfile_and_the_wheels(python: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(build_context(python))) as tar:
        names = tar.getnames()
    wheels = {name.removeprefix("wheels/") for name in names if "." in name}
    assert "Dockerfile" in names
    assert all(name.endswith("-none-any.whl") for name in wheels)
    pins = {
        "==".join(name.replace("_", "-").split("-none")[0].rsplit("-", 2)[:2]) for name in wheels
    }
    assert pins == set(stack_for(python))
