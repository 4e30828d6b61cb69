"""Builds or pulls the images of imported tasks, and rejects tasks without one."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from agentbench.attempt.task_image import resolve_image, with_image
from agentbench.core.display_text import one_line
from agentbench.errors import GitCloneError, InputError, UnavailableError
from agentbench.runs.components import select_sandbox
from agentbench.runs.options import RunOptions
from agentbench.sandbox.docker.images import python_in
from agentbench.sandbox.interface import BuildsBaseImages, SandboxProvider
from agentbench.tasks.dataset_rows import Rejection, read_origin
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.MULTILINE | re.IGNORECASE)
_MAX_REASON = 400  # characters of a reason


def refuse_without_images(
    folders: Sequence[Path], options: RunOptions, *, remedy: str = ""
) -> list[Rejection]:
    """Get the image of each task; a task whose image is not available is removed and rejected.

    Args:
        folders: The folders of new tasks.
        options: The sandbox, and the function that is told about builds.
        remedy: What else the user can do about it.

    Raises:
        UnavailableError: no sandbox is available.
        SandboxError: the engine is lost.
    """
    images = _ImageChecker(options)
    refused = []
    for folder in folders:
        reason = images.fault(folder)
        if reason is not None:
            origin = read_origin(folder)
            instance = folder.name if origin is None else origin.instance_id
            shutil.rmtree(folder)
            said = f"{reason}; {remedy}" if remedy else reason
            found = Rejection(where=str(folder), instance=instance, field="image", what=said)
            refused.append(found)
    return refused


class _ImageChecker:
    """Gets each image once."""

    def __init__(self, options: RunOptions) -> None:
        self._provider = select_sandbox(options).provider
        self._mirrors = Mirrors(options.cache_dir / "mirrors")
        self._say = options.say
        self._known: dict[str, str | None] = {}

    def fault(self, folder: Path) -> str | None:
        """Why the image of a task is not available; None also if the task itself is invalid."""
        try:
            loaded = load_task(folder, mirrors=self._mirrors)
            task = with_image(loaded, self._provider, self._mirrors)
        except (InputError, GitCloneError):
            return None  # validation names its faults
        except UnavailableError as error:
            return one_line(str(error), limit=_MAX_REASON)
        key = _image_key(task)
        if key not in self._known:
            self._known[key] = None
            try:
                for name in _base_images(task):
                    _build_missing(name, self._provider, self._say)
                resolve_image(task, self._provider)
            except UnavailableError as error:
                self._known[key] = one_line(str(error), limit=_MAX_REASON)
        return self._known[key]


def _build_missing(name: str, provider: SandboxProvider, say: Callable[[str], None]) -> None:
    python = python_in(name)
    if python is None or not isinstance(provider, BuildsBaseImages):
        return
    try:
        provider.resolve_image(name)
    except UnavailableError:
        provider.build_base_image(python, progress=say)


def _base_images(task: Task) -> list[str]:
    environment = task.environment
    if environment.dockerfile is not None:
        return _FROM.findall(environment.dockerfile.read_text("utf-8", "replace"))
    return [] if environment.image is None else [environment.image]


def _image_key(task: Task) -> str:
    environment = task.environment
    if environment.dockerfile is None:
        return f"{environment.image} {task.workdir}"
    others = sorted(path.name for path in environment.dockerfile.parent.iterdir())
    alone = others == [environment.dockerfile.name]
    text = environment.dockerfile.read_text("utf-8", "replace") if alone else str(task.folder)
    return f"{text} {task.workdir}"
