"""The recipe of the base image and its hash."""

import io
import tarfile

from agentbench.sandbox.image_recipe import build_context, recipe_hash


def test_the_hash_depends_on_what_is_built_on() -> None:
    assert recipe_hash("slim-3.11") == recipe_hash("slim-3.11")
    assert recipe_hash("slim-3.11") != recipe_hash("slim-3.12")


def test_the_context_holds_the_dockerfile_and_pure_wheels() -> None:
    with tarfile.open(fileobj=io.BytesIO(build_context("3.11"))) as tar:
        names = tar.getnames()
    assert "Dockerfile" in names
    wheels = [name for name in names if name != "Dockerfile"]
    assert any(name.startswith("wheels/pytest-") for name in wheels)
    assert all(name.endswith("-none-any.whl") for name in wheels)
