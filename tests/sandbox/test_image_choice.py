"""Which base image is used, and how one that is missing is refused: without any engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox import python_stacks
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import DockerNotFoundError, ImageFacts


class EngineWith:
    """An engine that has base images and reaches no registry."""

    def __init__(self, *pythons: str) -> None:
        self.pythons = pythons

    def image(self, name: str) -> ImageFacts:
        repository, _, python = name.rpartition(":")
        if repository == python_stacks.BASE_IMAGES and python in self.pythons:
            return ImageFacts(id=f"id-{python}", env=(), labels={})
        raise DockerNotFoundError(name)

    @contextmanager
    def api(self, doing: str, **_options: bool) -> Iterator[SimpleNamespace]:
        if doing != "list images":
            raise SandboxError("the registry does not answer")
        yield SimpleNamespace(images=lambda *_, **__: [_listed(each) for each in self.pythons])


def _listed(python: str) -> dict[str, object]:
    name = python_stacks.base_image_name(python)
    return {"Id": f"id-{python}", "RepoTags": [name], "Labels": {"agentbench.python": python}}


def test_the_default_image_is_the_same_whatever_was_built_since() -> None:
    assert images.resolve_image(EngineWith("3.11"), None) == "id-3.11"
    assert images.resolve_image(EngineWith("3.9", "3.11", "3.13", "3.14"), None) == "id-3.11"


def test_without_the_default_image_no_other_one_is_taken() -> None:
    with pytest.raises(UnavailableError) as refused:
        images.resolve_image(EngineWith("3.13"), None)
    assert str(refused.value) == (
        "the base image agentbench/python:3.11 is not built (built: 3.13): "
        "run `agentbench images build --python 3.11`"
    )


def test_a_python_without_base_images_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UnavailableError, match=r"base images exist for Python 3\.6, .*, 3\.14$"):
        images.resolve_image(EngineWith("3.11"), "agentbench/python:3.5")


@pytest.mark.parametrize(
    ("python", "remedy"),
    [("3.12", "Debian's packages have Python 3.9, 3.11, 3.13."), ("3.8", "reach a registry")],
)
def test_an_image_that_cannot_be_made_says_what_was_tried(python: str, remedy: str) -> None:
    with pytest.raises(UnavailableError) as refused:
        images.build_base_image(EngineWith(), python)
    said = str(refused.value)
    assert said.startswith(
        f"cannot build a base image with Python {python}. Attempts:\n  slim-{python}"
    )
    assert remedy in said


def test_a_version_that_is_not_supported_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(UsageError, match=r"no base image has Python '2\.6'"):
        images.build_base_image(EngineWith(), "2.6")
