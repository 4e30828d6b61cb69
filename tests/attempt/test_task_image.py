"""The image and the Python of a task: by its project, not by what a machine has."""

import shutil
from pathlib import Path

import pytest

from agentbench.attempt.task_image import (
    TaskImage,
    check_services,
    image_of,
    python_warnings,
    why_python,
    with_image,
    with_images,
    with_runtime,
)
from agentbench.errors import UnavailableError
from agentbench.tasks.task import RepoSource, Task, TaskEnvironment
from tests.fakes.staging import mirrors
from tests.fakes.unreliable_provider import UnreliableProvider

CONTAINERS = UnreliableProvider()
"""A back end whose images bring their Python."""


class Borrowing(UnreliableProvider):
    """A back end that has the Python of its machine only."""

    def describe(self) -> dict[str, str]:
        return {"python": "3.11.4"}


def asking(task: Task, specifier: str, folder: Path) -> Task:
    files = folder / "files"
    shutil.copytree(task.source.files or Path(), files)
    (files / "setup.cfg").write_text(f"[options]\npython_requires = {specifier}\n")
    return task.replace(source=RepoSource(files=files))


def test_a_task_gets_the_base_image_of_the_python_that_its_project_asks_for(task, tmp_path):
    found = with_image(asking(task, "<3.10", tmp_path), CONTAINERS, mirrors())
    assert found.environment.image == "agentbench/python:3.9"
    assert found.digest == task.digest
    expected = TaskImage(name="agentbench/python:3.9", python="3.9")
    assert image_of(found, CONTAINERS) == expected


def test_a_task_that_asks_for_none_gets_the_default(task):
    assert with_image(task, CONTAINERS, mirrors()).environment.image == "agentbench/python:3.11"


@pytest.mark.parametrize(
    "environment", [TaskEnvironment(image="own:1"), TaskEnvironment(dockerfile=Path("Dockerfile"))]
)
def test_an_image_of_the_tasks_own_is_left_alone(task, environment, tmp_path):
    own = asking(task, "<3.10", tmp_path).replace(environment=environment)
    assert with_image(own, CONTAINERS, mirrors()) == own
    assert image_of(own, CONTAINERS) == TaskImage(name=environment.image)
    assert why_python(own, mirrors()) == ""


@pytest.mark.parametrize(
    ("main", "image"), [("", "agentbench/python:3.11"), ("  main: {build: .}\n", None)]
)
def test_the_sandbox_of_a_compose_file_may_have_an_image(task, tmp_path, main, image):
    compose = tmp_path / "compose.yaml"
    compose.write_text(f"services:\n{main}  db: {{image: a}}\n")
    environment = TaskEnvironment(compose=compose)
    own = task.replace(environment=environment)
    assert with_image(own, CONTAINERS, mirrors()).environment.image == image


def test_a_sandbox_without_images_has_the_python_of_its_machine(task, tmp_path):
    old = asking(task, "<3.10", tmp_path)
    assert with_image(old, Borrowing(), mirrors()) == old
    assert image_of(old, Borrowing()) == TaskImage(python="3.11.4")


def test_a_task_that_asks_for_another_python_than_the_machines_is_named(task, tmp_path):
    old = asking(task, "<3.10", tmp_path)
    assert python_warnings([task, old], Borrowing(), mirrors()) == (
        f"process has Python 3.11.4 only; these tasks ask for another one: {old.id}",
    )
    assert python_warnings([task], Borrowing(), mirrors()) == ()
    assert python_warnings([old], CONTAINERS, mirrors()) == ()


def test_a_project_that_admits_no_base_image_is_refused_with_what_to_do(task, tmp_path):
    with pytest.raises(UnavailableError) as refused:
        with_images([task, asking(task, "<3.7", tmp_path)], CONTAINERS, mirrors())
    assert str(refused.value) == (
        f"{task.id}: Requires-Python is <3.7, and base images have Python 3.8 to 3.14; "
        "name an image in [environment] of its task.toml"
    )


def test_a_repository_that_cannot_be_cloned_is_left_to_the_attempts(task):
    away = task.replace(source=RepoSource(url="file:///nowhere/at-all", commit="0" * 40))
    assert with_images([away], CONTAINERS, mirrors()) == [away]


def test_why_a_task_has_its_python_can_be_said(task, tmp_path):
    assert why_python(task, mirrors()) == ""
    assert why_python(asking(task, ">=3.8", tmp_path / "new"), mirrors()) == ""
    old = asking(task, "<3.10", tmp_path)
    assert why_python(old, mirrors()) == "needs Python 3.9 (Requires-Python is <3.10); "


def test_the_runtime_of_a_run_outranks_that_of_the_task(task):
    assert with_runtime(task, None) == task
    asked = with_runtime(task, "runsc")
    assert asked.environment.runtime == "runsc"
    assert with_runtime(asked, "kata").environment.runtime == "kata"


def test_a_back_end_without_runtimes_refuses_one(task):
    with pytest.raises(UnavailableError, match=r"no runtime 'runsc': use a container engine"):
        check_services(with_runtime(task, "runsc"), CONTAINERS)
