"""Images of tasks that were just written: built, or their tasks are refused and removed."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import RegistryError, SandboxError, StorageError, UnavailableError
from agentbench.importers.task_images import TaskImages, refuse_without_images
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import ImageId, ImageSettings
from agentbench.tasks.users import AGENT_USER, UserName
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
        user: UserName = AGENT_USER,
    ) -> ImageId:
        del workdir, user
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


def on(engine: UnreliableProvider, messages: list[str] | None = None) -> RunOptions:
    return RunOptions(sandbox=engine, say=(messages if messages is not None else []).append)


def test_a_base_image_that_is_missing_is_built_once_for_all_its_tasks(write):
    folders = [write(name, 'image = "agentbench/python:3.9"') for name in ("a", "b")]
    engine, messages = Engine(builds=("3.9",)), []
    assert refuse_without_images(folders, on(engine, messages)) == []
    assert (engine.built, messages) == (["3.9"], ["building 3.9"])


def test_task_without_image_is_rejected_and_removed(write):
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


def test_task_with_other_faults_is_kept(write):
    folder = write("a", 'image = "gone:1"')
    (folder / "task.toml").write_text("no toml")
    assert refuse_without_images([folder], on(Engine())) == []
    assert folder.exists()


def test_missing_image_without_builder_is_rejected(write):
    class Bare(UnreliableProvider):
        def resolve_image(self, image: str | None, **_more: object) -> ImageId:
            raise UnavailableError(f"has no {image}")

    (refused,) = refuse_without_images([write("a", 'image = "agentbench/python:3.9"')], on(Bare()))
    assert refused.what == "has no agentbench/python:3.9"


class ManagingEngine(Engine):
    """An engine with a registry that is away, and perhaps with a full disk."""

    def __init__(self, *images: str, fault: str = "no answer") -> None:
        super().__init__(*images)
        self.fault = fault
        self.asked_for: list[str] = []

    def resolve_image(self, image: str | None, **_more: object) -> ImageId:
        if image not in self.images:
            self.asked_for.append(str(image))
            raise RegistryError(f"the image {image} cannot be pulled ({self.fault})")
        return ImageId(image)

    def has_image(self, image: str) -> bool:
        return image in self.images

    def image_settings(self, image: str) -> ImageSettings:
        raise SandboxError(f"nobody asks for the settings of {image}")

    def is_outdated(self, python: str) -> bool:
        return python == "3.9"

    def image_bytes(self) -> int:
        return 7


def test_a_registry_that_does_not_answer_is_asked_once():
    engine, messages = ManagingEngine("swebench/two:1"), list[str]()
    images = TaskImages(on(engine, messages))
    names = ("swebench/one:1", "swebench/two:1", "swebench/three:1", "r.example:5000/four:1")
    assert [images.fault(name) for name in names] == [
        "the image swebench/one:1 is missing, and docker.io did not answer",
        None,
        "the image swebench/three:1 is missing, and docker.io did not answer",
        "the image r.example:5000/four:1 is missing, and r.example:5000 did not answer",
    ]
    assert engine.asked_for == ["swebench/one:1", "r.example:5000/four:1"]
    assert messages[0].startswith("docker.io did not answer, and is not asked again: the image sw")
    assert (len(messages), images.used_bytes) == (2, 7)


def test_silent_registry_is_asked_once(write):
    engine = ManagingEngine()
    images = TaskImages(on(engine))
    assert images.fault("r.example:5000/one:1") is not None
    dockerfile = 'dockerfile = "environment/Dockerfile"'
    folder = write("two", dockerfile, "FROM r.example:5000/two:1\nRUN true\n")
    refusal = images.refuse(folder, remedy="or give a recipe")
    assert refusal is not None
    assert refusal.what == (
        "the image r.example:5000/two:1 is missing, and r.example:5000 did not answer; "
        "or give a recipe"
    )
    assert engine.asked_for == ["r.example:5000/one:1"]
    assert not folder.exists()


def test_a_registry_without_an_image_is_asked_for_the_next_one():
    engine = Engine("there:1")
    images = TaskImages(on(engine))
    assert images.fault("gone:1") == "the image gone:1 is not there: pull it"
    assert images.fault("there:1") is None
    assert images.used_bytes is None


def test_full_disk_of_engine_is_an_error():
    images = TaskImages(on(ManagingEngine(fault="write /layer: no space left on device")))
    with pytest.raises(StorageError, match=r"the engine's disk is full: .*agentbench clean"):
        images.fault("swebench/one:1")


def test_a_base_image_of_another_version_is_used_and_named():
    messages: list[str] = []
    engine = ManagingEngine("agentbench/python:3.9", "agentbench/python:3.11")
    images = TaskImages(on(engine, messages))
    assert [images.fault(f"agentbench/python:{each}") for each in ("3.9", "3.11")] == [None, None]
    assert messages == [
        "agentbench/python:3.9 was built by another version of agentbench, and is used as it is; "
        "to rebuild it: agentbench images build --python 3.9"
    ]


def test_lost_engine_rejects_no_task(write):
    class Lost(UnreliableProvider):
        def resolve_image(self, *_image: object, **_more: object) -> ImageId:
            raise SandboxError("the engine is lost")

    folder = write("a", 'image = "there:1"')
    with pytest.raises(SandboxError):
        refuse_without_images([folder], on(Lost()))
    assert folder.exists()
