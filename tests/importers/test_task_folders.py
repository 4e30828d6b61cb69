"""Images of tasks that were just written: built, or their tasks are refused and removed."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.importers.task_images import refuse_without_images
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import ImageId
from tests.e2e.small_task import SmallTask
from tests.fakes.unreliable_provider import UnreliableProvider


class Engine(UnreliableProvider):
    """A back end with some images, which builds base images of some Pythons."""

    def __init__(self, *images: str, builds: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.images = set(images)
        self.builds = builds
        self.built: list[str] = []

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
    ) -> ImageId:
        del workdir
        name = image or (dockerfile or Path()).read_text().split()[1]
        if name not in self.images:
            raise UnavailableError(f"the image {name} is not there:\npull it")
        return ImageId(name)

    def build_base_image(
        self, python: str, *, progress: Callable[[str], None] = lambda _line: None
    ) -> None:
        progress(f"building {python}")
        self.built.append(python)
        if python not in self.builds:
            raise UnavailableError(f"no base image with Python {python} can be made")
        self.images.add(f"agentbench/python:{python}")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a task with an environment of its own, and perhaps a Dockerfile."""

    def write(name: str, environment: str, dockerfile: str = "") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if dockerfile:
            (folder / "environment").mkdir()
            (folder / "environment" / "Dockerfile").write_text(dockerfile)
        return SmallTask(environment=environment).write(folder)

    return write


def on(engine: UnreliableProvider, said: list[str] | None = None) -> RunOptions:
    return RunOptions(sandbox=engine, say=(said if said is not None else []).append)


def test_a_base_image_that_is_missing_is_built_once_for_all_its_tasks(write):
    folders = [write(name, 'image = "agentbench/python:3.9"') for name in ("a", "b")]
    engine, said = Engine(builds=("3.9",)), []
    assert refuse_without_images(folders, on(engine, said)) == []
    assert (engine.built, said) == (["3.9"], ["building 3.9"])


def test_tasks_whose_image_cannot_be_had_are_refused_by_name_and_removed(write):
    good = write("good", 'image = "there:1"')
    folders = [
        write("foreign", 'image = "gone:1"'),
        good,
        write("old", 'image = "agentbench/python:3.5"'),
        write("unbuilt", 'image = "agentbench/python:3.8"'),
    ]
    refused = refuse_without_images(folders, on(Engine("there:1")), remedy="or name another one")
    assert [str(each) for each in refused] == [
        f"{folders[0]}: foreign: image: the image gone:1 is not there: pull it; "
        "or name another one",
        f"{folders[2]}: old: image: the image agentbench/python:3.5 is not there: pull it; "
        "or name another one",
        f"{folders[3]}: unbuilt: image: no base image with Python 3.8 can be made; "
        "or name another one",
    ]
    assert [folder for folder in folders if folder.exists()] == [good]


def test_a_dockerfile_gets_the_base_image_that_it_begins_with(write):
    dockerfile = 'dockerfile = "environment/Dockerfile"'
    folder = write("apt", dockerfile, "FROM agentbench/python:3.13\nRUN true\n")
    gone = write("gone", dockerfile, "FROM gone:2\n")
    engine = Engine(builds=("3.13",))
    (refused,) = refuse_without_images([folder, gone], on(engine))
    assert (refused.instance, engine.built) == ("gone", ["3.13"])


def test_a_task_with_other_faults_is_left_to_the_proof(write):
    folder = write("a", 'image = "gone:1"')
    (folder / "task.toml").write_text("no toml")
    assert refuse_without_images([folder], on(Engine())) == []
    assert folder.exists()


def test_a_sandbox_that_builds_none_refuses_what_it_has_not(write):
    class Bare(UnreliableProvider):
        def resolve_image(self, image: str | None, **_more: object) -> ImageId:
            raise UnavailableError(f"has no {image}")

    (refused,) = refuse_without_images([write("a", 'image = "agentbench/python:3.9"')], on(Bare()))
    assert refused.what == "has no agentbench/python:3.9"


def test_an_engine_that_is_lost_refuses_no_task(write):
    class Lost(UnreliableProvider):
        def resolve_image(self, *_image: object, **_more: object) -> ImageId:
            raise SandboxError("the engine is lost")

    folder = write("a", 'image = "there:1"')
    with pytest.raises(SandboxError):
        refuse_without_images([folder], on(Lost()))
    assert folder.exists()
