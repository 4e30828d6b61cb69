"""The image that a task's sandboxes start from, and the Python in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentbench.core.display_text import list_with_more
from agentbench.errors import UnavailableError
from agentbench.sandbox import python_stacks
from agentbench.sandbox.egress.plan import check_networks
from agentbench.sandbox.interface import (
    EngineProvider,
    ImageId,
    SandboxProvider,
    Services,
)
from agentbench.sandbox.python_stacks import CHOSEN_PYTHONS, DEFAULT_PYTHON
from agentbench.sandbox.registry import check_runtime
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

if TYPE_CHECKING:
    from agentbench.tasks import project_versions
    from agentbench.tasks.project_declaration import ReadText

_NAMED = 10  # tasks that a warning names


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskImage:
    """The image of a task, as far as it is known before a sandbox opens."""

    name: str | None = None
    """None: it is built from a Dockerfile, or the sandbox has no images."""
    python: str | None = None
    """None: only the image itself knows."""


def with_image(task: Task, provider: SandboxProvider, mirrors: Mirrors) -> Task:
    """The task with the name of a base image if it names no image of its own.

    A back end without images of its own gives each task the Python of its machine.

    Raises:
        GitCloneError: the repository, which declares the Python version, cannot be cloned.
        UnavailableError: no Python of the base images fits the project.
    """
    if _brings_an_image(task) or provider.describe().get("python") is not None:
        return task
    requested = _required_python(task, mirrors, default=DEFAULT_PYTHON)
    named = task.environment.replace(image=python_stacks.base_image_name(requested.version))
    return task.replace(environment=named)


def with_runtime(task: Task, runtime: str | None) -> Task:
    """The task with another runtime, if there is one."""
    if runtime is None:
        return task
    environment = task.environment.replace(runtime=runtime)
    return task.replace(environment=environment)


def with_images(tasks: Sequence[Task], provider: SandboxProvider, mirrors: Mirrors) -> list[Task]:
    """All tasks with their images; a task whose repository is not cloned yet has none.

    Raises:
        UnavailableError: no Python of the base images fits a project.
    """
    return [
        with_image(task, provider, mirrors) if _is_readable(task, mirrors) else task
        for task in tasks
    ]


def resolve_image(task: Task, provider: SandboxProvider) -> ImageId:
    """The image that a task's sandboxes start from.

    Raises:
        UnavailableError: there is no such image, and it cannot be pulled or built; or the back end
            runs no services.
        SandboxError: the services cannot be prepared.
    """
    check_services(task, provider)
    environment, services = task.environment, services_of(task)
    image: str | None = environment.image
    if services is not None and isinstance(provider, EngineProvider):
        image = provider.prepare_services(services) if image is None else image
    dockerfile = environment.dockerfile
    return provider.resolve_image(
        None if dockerfile else image,
        dockerfile=dockerfile,
        workdir=task.workdir,
        user=environment.user,
    )


def check_services(task: Task, provider: SandboxProvider) -> None:
    """Check that a back end has the services, steps, runtime and network that a task needs.

    Raises:
        UnavailableError: something is missing; the message says what to install.
    """
    verifier, services = task.answer_key.verifier, services_of(task)
    judged_with = verifier.network if verifier is not None else False
    stages = [task.environment.network, task.problem.network, judged_with]
    stages += [each for step in task.steps for each in (step.network, step.verifier.network)]
    check_networks(task.setup.network, stages, provider)
    check_runtime(provider, task.environment.runtime)
    if task.steps and not isinstance(provider, EngineProvider):
        what = f"{task.folder}: {provider.name} keeps no sandbox running from step to step"
        raise UnavailableError(f"{what}: use a container engine, --sandbox docker")
    if services is not None:
        if not isinstance(provider, EngineProvider):
            raise services.refusal_of(provider.name)
        provider.check_services()


def services_of(task: Task) -> Services | None:
    """The services that run alongside a task's sandboxes."""
    environment = task.environment
    if environment.compose is None:
        return None
    from agentbench.tasks.compose_file import MAIN_IMAGE  # imports a parser

    own = {
        "CONTEXT_DIR": str(environment.compose.resolve().parent),
        "CPUS": f"{environment.cpus:g}",
        "MEMORY": f"{environment.memory_mib}M",
        "MAIN_IMAGE_NAME": MAIN_IMAGE,
        "PREBUILT_IMAGE_NAME": MAIN_IMAGE,
    }
    return Services(
        file=environment.compose,
        env=environment.env,
        variables=own,
        on_localhost=environment.services_on_localhost,
    )


def image_of(task: Task, provider: SandboxProvider) -> TaskImage:
    """The image of a task that has its image's name."""
    own = provider.describe().get("python")
    if own is not None:
        return TaskImage(python=own)
    name = task.environment.image
    return TaskImage(
        name=name, python=None if name is None else python_stacks.python_of_base_image(name)
    )


def python_warnings(
    tasks: Sequence[Task], provider: SandboxProvider, mirrors: Mirrors
) -> tuple[str, ...]:
    """A warning about tasks that ask for another Python than the back end's."""
    own = provider.describe().get("python")
    if own is None:
        return ()
    own_version = ".".join(own.split(".")[:2])
    unfit = [task.id for task in tasks if not _admits(task, mirrors, own_version)]
    if not unfit:
        return ()
    named = list_with_more(unfit, _NAMED)
    return (f"{provider.name} has Python {own} only; these tasks ask for another one: {named}",)


def why_python(task: Task, mirrors: Mirrors) -> str:
    """Why a task without an image gets its Python: the beginning of an error message."""
    if _brings_an_image(task) or not _is_readable(task, mirrors):
        return ""
    requested = _required_python(task, mirrors, default=DEFAULT_PYTHON)
    is_default = requested.version == DEFAULT_PYTHON
    return "" if is_default else f"needs Python {requested.version} ({requested.why}); "


def _brings_an_image(task: Task) -> bool:
    environment = task.environment
    if environment.image is not None or environment.dockerfile is not None:
        return True
    if environment.compose is None:
        return False
    from agentbench.tasks.compose_file import main_has_image  # imports a parser

    return main_has_image(environment.compose)


def _is_readable(task: Task, mirrors: Mirrors) -> bool:
    """Whether the project's files are on this machine; only attempts clone it."""
    return task.source.url is None or mirrors.find_complete(task.source) is not None


def _admits(task: Task, mirrors: Mirrors, own: str) -> bool:
    if _brings_an_image(task) or not _is_readable(task, mirrors):
        return True  # resolving the image, or an attempt, will show it
    supported = sorted({*CHOSEN_PYTHONS, own}, key=lambda version: int(version.split(".")[1]))
    try:
        return _required_python(task, mirrors, default=own, supported=supported).version == own
    except UnavailableError:
        return False


def _required_python(
    task: Task, mirrors: Mirrors, *, default: str, supported: Sequence[str] = CHOSEN_PYTHONS
) -> "project_versions.RequestedPython":
    from agentbench.tasks import project_versions  # imports several parsers

    read = _reader(task, mirrors)
    try:
        return project_versions.requested_python(read, supported=supported, default=default)
    except project_versions.UnsupportedPythonError as error:
        versions = f"{supported[0]} to {supported[-1]}"
        raise UnavailableError(
            f"{task.id}: {error}, and base images have Python {versions}; "
            "name an image in [environment] of its task.toml"
        ) from None


def _reader(task: Task, mirrors: Mirrors) -> "ReadText":
    from agentbench.tasks import project_versions

    source = task.source
    if source.files is not None:
        return project_versions.tree_reader(source.files)
    if source.workdir is not None:
        return lambda _name: None  # the files are in an image without a name
    return project_versions.mirror_reader(mirrors.of(source))
