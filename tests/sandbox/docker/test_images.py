"""Images: the base image is made once, others are found, built or refused with a remedy."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId
from agentbench.sandbox.ownership import PYTHON, RECIPE
from tests.sandbox.compose_services import compose
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, foreign_image, image, provider

__all__ = ["compose", "engine", "foreign_image", "image", "provider"]

pytestmark = pytest.mark.docker


@pytest.fixture
def dockerfile(tmp_path: Path, image: ImageId) -> Path:
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM {image}\nCOPY note /note\nCMD ['never run']\n")
    return path


@pytest.fixture
def made(engine: Engine) -> Iterator[list[ImageId]]:
    """Images to be removed in the end: these alone, since others are built at the same time."""
    ids: list[ImageId] = []
    yield ids
    with engine.api("remove task images") as api:
        for own in ids:
            api.remove_image(own)


def test_an_image_that_is_up_to_date_is_not_built_again(engine: Engine, image: ImageId) -> None:
    said: list[str] = []
    again = images.build_base_image(engine, progress=said.append)
    assert again.id == image
    assert said == [f"{again.name} is up to date"]


def test_the_base_image_is_listed_and_is_the_default(engine: Engine, image: ImageId) -> None:
    listed = images.list_images(engine)
    assert image in {found.id for found in listed}
    assert (
        images.resolve_image(engine, None)
        == images.resolve_image(engine, "agentbench/python:3.11")
        == image
    )
    assert all(found.name == f"agentbench/python:{found.python}" for found in listed)
    assert all(found.size_bytes > 0 for found in listed)


def test_an_image_is_found_by_its_name(engine: Engine, image: ImageId) -> None:
    (found,) = [one for one in images.list_images(engine) if one.id == image]
    assert images.resolve_image(engine, found.name) == image


@pytest.mark.usefixtures("image")
def test_a_python_that_was_not_made_is_refused_with_the_command_to_run(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match=r"agentbench images build --python 3\.8"):
        images.resolve_image(engine, "agentbench/python:3.8")


def test_an_image_that_nobody_has_is_refused_with_a_remedy(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match="docker load"):
        images.resolve_image(engine, "localhost:1/no/such:image")


def test_a_dockerfile_is_built_once_for_each_content(
    provider: DockerProvider, dockerfile: Path, made: list[ImageId]
) -> None:
    note = dockerfile.parent / "note"
    note.write_text(uuid4().hex)
    made.append(first := provider.resolve_image(None, dockerfile=dockerfile))
    assert provider.resolve_image(None, dockerfile=dockerfile) == first
    note.write_text(another := uuid4().hex)
    made.append(second := provider.resolve_image(None, dockerfile=dockerfile))
    assert second != first
    with provider.open(second, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "cat /note").stdout == another


@pytest.mark.usefixtures("compose")
def test_a_dockerfile_for_buildkit_is_found_by_a_relative_path(
    provider: DockerProvider,
    dockerfile: Path,
    made: list[ImageId],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(dockerfile.parent)
    Path("note").write_text(text := uuid4().hex)
    Path("Dockerfile").write_text("FROM agentbench/python:3.11\nCOPY --chmod=644 note /note\n")
    made.append(found := provider.resolve_image(None, dockerfile=Path("Dockerfile")))
    with provider.open(found, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "cat /note").stdout == text


def test_a_dockerfile_that_fails_says_why(
    provider: DockerProvider, dockerfile: Path, image: ImageId
) -> None:
    # Its first step is what fails: a step before it would stay behind as a nameless image.
    dockerfile.write_text(f"FROM {image}\nRUN echo it went wrong; exit 3\n")
    with pytest.raises(UnavailableError, match="it went wrong"):
        provider.resolve_image(None, dockerfile=dockerfile)


def test_an_image_with_nothing_of_ours_gives_a_sandbox_too(
    provider: DockerProvider, foreign_image: str
) -> None:
    source = provider.resolve_image(foreign_image)
    with provider.open(source, limits=LIMITS, network=False) as sandbox:
        result = sh(sandbox, 'id -u; touch "$HOME/x" y /results/z && cat', stdin=b"input")
        assert result.stdout == "1000\ninput"
        snapshot = sandbox.snapshot("test-foreign")
    try:
        with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
            assert sh(sandbox, 'ls; ls "$HOME"; touch y z').stdout == "y\nx\n"
    finally:
        provider.discard(snapshot)


GONE = "failed to get digest sha256:74d0: open /var/lib/docker/image: no such file or directory"


@pytest.mark.parametrize(
    "error",
    [
        GONE,
        "No such image: sha256:fe07",
        "unknown parent image ID sha256:b6cb",
        'unable to find image "sha256:b8ea"',
    ],
)
def test_a_build_that_lost_a_step_to_a_removal_beside_it_is_started_again(error: str) -> None:
    builds = iter([[{"error": error}], [{"error": error}], [{"stream": "."}]])
    images.run_build(lambda: next(builds), "it")
    assert next(builds, None) is None


@pytest.mark.parametrize(("error", "starts"), [(GONE, 4), ("went wrong", 1)])
def test_a_build_that_fails_for_good_says_why(error: str, starts: int) -> None:
    started = []
    with pytest.raises(UnavailableError, match=error.split(":", maxsplit=1)[0]):
        images.run_build(lambda: started.append(1) or [{"error": error}], "it")
    assert len(started) == starts


def test_a_base_image_of_another_recipe_is_outdated(engine: Engine, image: ImageId) -> None:
    assert not images.is_outdated(engine, "3.11")
    before = images.image_bytes(engine)
    assert before >= next(one.size_bytes for one in images.list_images(engine) if one.id == image)
    name = f"agentbench/python:test-{uuid4().hex}"
    labels = f"LABEL {RECIPE}=another {PYTHON}=3.14"
    with engine.api("build an outdated image", moves_files=True) as api:
        context = tar_of_file("Dockerfile", f"FROM {image}\n{labels}\n".encode())
        lines = api.build(
            fileobj=BytesIO(context), custom_context=True, tag=name, rm=True, decode=True
        )
        images.run_build(lambda: lines, name)
        try:
            assert images.image_exists(engine, name)
            assert images.is_outdated(engine, "3.14")
        finally:
            api.remove_image(name)
    assert not images.image_exists(engine, name)
