"""Gets the images of new tasks: base images are built, others pulled; says why one is missing."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from agentbench.attempt.task_image import resolve_image, with_image
from agentbench.core.display_text import one_line
from agentbench.errors import (
    GitCloneError,
    InputError,
    RegistryError,
    StorageError,
    UnavailableError,
)
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import BuildsBaseImages, ImageSettings, ManagesImages
from agentbench.sandbox.python_stacks import python_of_base_image
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.dataset_rows import Rejection, read_origin
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.MULTILINE | re.IGNORECASE)
_MAX_REASON = 400  # characters of a reason
_DISK_FULL = "no space left on device"


def refuse_without_images(
    folders: Sequence[Path], options: RunOptions, *, remedy: str = ""
) -> list[Rejection]:
    """Get the image of each task; a task whose image is not available is removed and rejected.

    Args:
        folders: The folders of new tasks.
        options: The sandbox, and the function that is called about builds.
        remedy: The user's other remedies.

    Raises:
        UnavailableError: no sandbox is available.
        StorageError: the engine's disk is full.
        SandboxError: the engine is lost.
    """
    images = TaskImages(options)
    found = (images.refuse(folder, remedy=remedy) for folder in folders)
    return [rejection for rejection in found if rejection is not None]


class TaskImages:
    """Gets each image once. A registry that does not answer is not asked again."""

    def __init__(self, options: RunOptions) -> None:
        """Prepare for the back end of some options.

        Raises:
            UnavailableError: no sandbox is available.
        """
        self._provider = select_back_end(options.sandbox, cache_dir=options.cache_dir).provider
        self._mirrors = Mirrors(options.cache_dir / "mirrors")
        self._say = options.say
        self._images: dict[str, str | None] = {}
        self._task_images: dict[str, str | None] = {}
        self._registries: set[str] = set()  # that did not answer

    @property
    def used_bytes(self) -> int | None:
        """The disk space of all images and snapshots; None if the back end has none."""
        return self._provider.image_bytes() if isinstance(self._provider, ManagesImages) else None

    def has(self, image: str) -> bool:
        """Whether nothing must be pulled or built for an image; no registry is asked.

        Raises:
            SandboxError: the engine is lost.
        """
        return not isinstance(self._provider, ManagesImages) or self._provider.has_image(image)

    def refuse(self, folder: Path, *, remedy: str = "") -> Rejection | None:
        """Get the image of a task; if it is not available, remove the task and say why.

        Raises:
            StorageError: the engine's disk is full.
            SandboxError: the engine is lost.
        """
        reason = self._task_fault(folder)
        if reason is None:
            return None
        origin = read_origin(folder)
        instance = folder.name if origin is None else origin.instance_id
        shutil.rmtree(folder)
        what = f"{reason}; {remedy}" if remedy else reason
        return Rejection(where=str(folder), instance=instance, field="image", what=what)

    def fault(self, image: str) -> str | None:
        """Why an image is not available; None: the engine has it now.

        Raises:
            StorageError: the engine's disk is full.
            SandboxError: the engine is lost.
        """
        if image not in self._images:
            self._images[image] = self._fault_of(image)
        return self._images[image]

    def settings_of(self, image: str) -> ImageSettings | None:
        """The settings of an image for its programs; None: it is not available.

        Raises:
            StorageError: the engine's disk is full.
            SandboxError: the engine is lost.
        """
        if not isinstance(self._provider, ManagesImages) or self.fault(image) is not None:
            return None
        return self._provider.image_settings(image)

    def _fault_of(self, image: str) -> str | None:
        registry, provider = _registry_of(image), self._provider
        is_base = python_of_base_image(image) is not None
        down = f"the image {image} is missing, and {registry} did not answer"
        if registry in self._registries and not is_base and isinstance(provider, ManagesImages):
            return None if provider.has_image(image) else down
        try:
            self._build_missing(image)
            provider.resolve_image(image)
        except RegistryError as error:
            _check_disk(error)
            self._registries.add(registry)
            reason = one_line(str(error), limit=_MAX_REASON)
            self._say(f"{registry} did not answer, and is not asked again: {reason}")
            return down
        except UnavailableError as error:
            reason = one_line(str(error), limit=_MAX_REASON)
            if is_base:
                self._say(f"{image} is not available: {reason}")
            return reason
        return None

    def _build_missing(self, image: str) -> None:
        python, provider = python_of_base_image(image), self._provider
        if python is None or not isinstance(provider, BuildsBaseImages):
            return
        try:
            provider.resolve_image(image)
        except UnavailableError:
            provider.build_base_image(python, progress=self._say)
            return
        if isinstance(provider, ManagesImages) and provider.is_outdated(python):
            self._say(
                f"{image} was built by another version of agentbench, and is used as it is; "
                f"to rebuild it: agentbench images build --python {python}"
            )

    def _task_fault(self, folder: Path) -> str | None:
        """Why the image of a task is not available; None also if the task itself is invalid."""
        try:
            loaded = load_task(folder, mirrors=self._mirrors)
            task = with_image(loaded, self._provider, self._mirrors)
        except (InputError, GitCloneError):
            # Validation names its faults.
            return None
        except UnavailableError as error:
            return one_line(str(error), limit=_MAX_REASON)
        environment = task.environment
        key = f"{environment.image} {task.workdir}"
        if environment.dockerfile is not None:
            # Equal Dockerfiles give equal images only if they copy no other file.
            others = [path.name for path in environment.dockerfile.parent.iterdir()]
            alone = others == [environment.dockerfile.name]
            text = environment.dockerfile.read_text("utf-8", "replace")
            key = f"{text if alone else task.folder} {task.workdir}"
        if key not in self._task_images:
            self._task_images[key] = self._get(task)
        return self._task_images[key]

    def _get(self, task: Task) -> str | None:
        environment = task.environment
        names = [] if environment.image is None else [environment.image]
        if environment.dockerfile is not None:
            names = _FROM.findall(environment.dockerfile.read_text("utf-8", "replace"))
        for name in names:
            # A name without a slash or a colon may be a stage of the Dockerfile.
            is_image = "/" in name or ":" in name
            is_base = python_of_base_image(name) is not None
            if is_base or (is_image and _registry_of(name) in self._registries):
                fault = self.fault(name)
                if fault is not None:
                    return fault
        try:
            resolve_image(task, self._provider)
        except UnavailableError as error:
            _check_disk(error)
            return one_line(str(error), limit=_MAX_REASON)
        return None


def _check_disk(error: UnavailableError) -> None:
    if _DISK_FULL in str(error):
        what = one_line(str(error), limit=_MAX_REASON)
        raise StorageError(f"the engine's disk is full: {what}; free some space: agentbench clean")


def _registry_of(image: str) -> str:
    """The host of an image's name, as Docker reads it."""
    first, slash, _ = image.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    return first if is_host else "docker.io"
