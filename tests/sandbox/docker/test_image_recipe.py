"""The recipe of the base image and its hash."""

import io
import tarfile

import pytest

from agentbench.errors import UsageError
from agentbench.sandbox.docker.base_image import build_context, recipe_hash
from agentbench.sandbox.python_stacks import STACKS, stack_for

_IN_THE_GATE = ("3.9", "3.11")


def test_the_hash_depends_on_what_is_built_on_and_on_what_is_installed() -> None:
    assert recipe_hash("slim-3.11", "3.11") == recipe_hash("slim-3.11", "3.11")
    assert recipe_hash("slim-3.11", "3.11") != recipe_hash("debian-bookworm", "3.11")
    assert recipe_hash("slim-3.9", "3.9") != recipe_hash("slim-3.9", "3.11")


@pytest.mark.parametrize(
    "python",
    [pytest.param(each, marks=() if each in _IN_THE_GATE else pytest.mark.soak) for each in STACKS],
)
def test_the_context_holds_the_dockerfile_and_the_wheels_of_a_python(python: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(build_context(python))) as tar:
        names = tar.getnames()
    wheels = {name.removeprefix("wheels/") for name in names if "." in name}
    assert "Dockerfile" in names
    assert all(name.endswith("-none-any.whl") for name in wheels)
    pins = {
        "==".join(name.replace("_", "-").split("-none")[0].rsplit("-", 2)[:2]) for name in wheels
    }
    assert pins == set(stack_for(python))


def test_a_python_without_a_recipe_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no base image has Python '3\.5'"):
        build_context("3.5")
