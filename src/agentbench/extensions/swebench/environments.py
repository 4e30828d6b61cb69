"""The environment of an instance: its image, a recipe, or the instance's own description."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import ValidationError

from agentbench.core.schema import describe_validation_error
from agentbench.extensions.swebench.dialects import apt_packages
from agentbench.extensions.swebench.environment_choice import EnvironmentChoice
from agentbench.extensions.swebench.install_config import InstallConfig
from agentbench.extensions.swebench.instance import SwebenchInstance
from agentbench.extensions.swebench.recipes import (
    PYTHONS_WITHOUT_DATES,
    InstallRecipe,
    InstallRecipes,
    find_recipe,
)
from agentbench.sandbox.python_stacks import DEFAULT_PYTHON, base_image_name
from agentbench.sandbox.toolchains import parse_tools
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import (
    EnvironmentTable,
    TestsTable,
)
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS, Runner

DOCKERFILE: Final = "environment/Dockerfile"
DATING_PIP: Final = "26.0.1"
"""A pip that can ignore files by the date of their upload; older ones ignore the date silently."""

_FILES, _STEM = "{files}", "{stem}"
_SETUP_SECONDS = 1800.0
# The limit of SWE-bench's own harness.
_TEST_SECONDS = 1800.0
_USER = "1000:1000"
_PIP = "python -m pip install"
_EDITABLE: Final[str] = InstallRecipe.model_fields["install"].default
# The pip of that time put the project's folder on sys.path, and some tests expect it there.
_EDITABLE_AS_THEN = "PIP_CONFIG_SETTINGS=editable_mode=compat"
_OFFICIAL_IMAGE = "swebench/sweb.eval.x86_64.{hub_id}:latest"
# A requirement that is not a path.
_NEEDS_NO_FILE = re.compile(r"[A-Za-z0-9](?!.*file:)")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_IMAGE = re.compile(r"[a-zA-Z0-9][\w./:@-]*")
_ANY_PYTEST = re.compile(r"(?:python3? -m )?pytest\b[^|&;<>`$\n]*")
_ANY_OTHER = re.compile(r"python3? (?:-m unittest|\S*\bruntests\.py)\b[^|&;<>`$\n]*")
# The images have the repository in /testbed or /NAME, installed in development mode. Its history
# shows the fix, so it is removed; files that the installation created are copied to the workspace.
_DATASET_IMAGE_DOCKERFILE = """\
FROM {image}
USER root
RUN rm -rf {folder}/.git && mv {folder} /testbed-made && chmod -R a+rX /testbed-made \\
    && ln -s /workspace {folder}
ENV PATH="/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/bin:$PATH"
"""
# Not `cp -n`: some versions of it fail where a file already exists.
_COPY_INSTALLED_FILES = "tar -C /testbed-made -cf - . | tar -xf - --skip-old-files"
_APT_DOCKERFILE = """\
FROM {image}
USER root
RUN apt-get update && apt-get install --yes --no-install-recommends {packages} \\
    && rm -rf /var/lib/apt/lists/*
USER {user}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceEnvironment:
    """Three tables of a task.toml, and the files that they need."""

    environment: EnvironmentTable
    setup: TaskSetup
    command: str = "pytest"
    runner: Runner | None = None  # None: the one that the command names
    report: str = ""  # the files that the command writes
    before: tuple[str, ...] = ()  # shell commands before every judged run
    files: Mapping[str, bytes] = field(default_factory=dict)
    summary: str = ""  # the image or the Python
    replaces: str = ""  # the Python that the recipe requires, if its image is not available

    def tests(self) -> TestsTable:
        """The `[tests]` table without the deciding tests."""
        if self.runner is None:
            table = TestsTable.of_command(self.command, timeout_s=_TEST_SECONDS)
        else:
            table = TestsTable(
                runner=self.runner,
                command=self.command,
                report=self.report,
                timeout_s=_TEST_SECONDS,
            )
        return table.replace(before=self.before)

    def for_tests(self, files: Sequence[str]) -> "InstanceEnvironment":
        """The environment of an instance with these files of tests."""
        stem = PurePosixPath(files[0]).stem if files else ""
        values = {_FILES: shlex.join(files), _STEM: shlex.quote(stem)}

        def fill(line: str) -> str:
            for placeholder, value in values.items():
                line = line.replace(placeholder, value)
            return line

        return replace(self, command=fill(self.command), before=tuple(map(fill, self.before)))

    def with_project_version(self, version: str) -> "InstanceEnvironment":
        """The environment with the project's version in its set-up, since no git tag gives it."""
        # The shared commands install other packages, which have versions of their own.
        assignment = f"export SETUPTOOLS_SCM_PRETEND_VERSION={shlex.quote(version)}"
        commands, before = (
            tuple(f"{assignment}; {command}" for command in some)
            for some in (self.setup.commands, self.before)
        )
        setup = self.setup.replace(commands=commands)
        return replace(self, setup=setup, before=before)


class UnknownEnvironmentError(ValueError):
    """An instance's environment is unknown or not supported; the text says why."""


EnvironmentDetector = Callable[[SwebenchInstance], InstanceEnvironment | None]
"""Finds the environment of an instance without a description; None: unknown."""


ReadFile = Callable[[str], str | None]


ImageFault = Callable[[str], str | None]
"""Returns why the image of a name is not available; None: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSources:
    """The sources of environments, in order of use."""

    choice: EnvironmentChoice = EnvironmentChoice.AUTO
    image_fault: ImageFault | None = None  # None: no engine is asked for images
    own: Sequence[InstallRecipes] = ()
    image_template: str | None = None
    shipped: Sequence[InstallRecipes] = ()
    detect: EnvironmentDetector | None = None


def environment_of(
    instance: SwebenchInstance, sources: EnvironmentSources, read: ReadFile = lambda _path: None
) -> InstanceEnvironment:
    """The environment of an instance.

    Args:
        instance: The instance.
        sources: The sources of environments.
        read: Reads a file of the base commit; None: it has none, or is not on this machine.

    Raises:
        UnknownEnvironmentError: no source has it, or its tests cannot be judged here.
    """
    try:
        return _find_environment(instance, sources, read)
    except ValidationError as error:
        fault = describe_validation_error(error.errors()[0], EnvironmentTable)
        raise UnknownEnvironmentError(f"its set-up is not valid in a task: {fault}") from None


def runner_of(instance: SwebenchInstance, sources: EnvironmentSources) -> Runner:
    """The runner of an instance's tests, if it is known without trying an environment."""
    own = find_recipe(sources.own, instance.repo, instance.version)
    shipped = find_recipe(sources.shipped, instance.repo, instance.version)
    command = ""
    if own is not None:
        return own.test_runner
    if instance.install_config is not None and sources.image_template is None:
        command = next(iter(instance.install_config.test_cmd), "")
    elif shipped is not None:
        return shipped.test_runner
    else:
        command = next(iter(instance.test_cmds), "")
    try:
        return parse_test_command(command).runner
    except ValueError:
        return Runner.PYTEST


def check_image_template(template: str) -> None:
    """Check a template of image names.

    Raises:
        ValueError: it has an unknown placeholder, or does not give an image's name.
    """
    known = _template_names("owner__name-1", "owner/name", "registry/image:tag")
    wrong = [name for name in _PLACEHOLDER.findall(template) if name not in known]
    if wrong:
        takes = ", ".join(f"{{{name}}}" for name in known)
        raise ValueError(f"unknown placeholder {{{wrong[0]}}}; known: {takes}")
    if not _IMAGE.fullmatch(_fill_template(template, known)):
        raise ValueError(f"{template!r} is not the name of an image")


def _find_environment(
    instance: SwebenchInstance, sources: EnvironmentSources, read: ReadFile
) -> InstanceEnvironment:
    own = find_recipe(sources.own, instance.repo, instance.version)
    shipped = find_recipe(sources.shipped, instance.repo, instance.version)
    recipe = own or shipped
    if recipe is not None and recipe.refuse:
        raise UnknownEnvironmentError(recipe.refuse)
    image = _image_for(instance, sources, own, is_known=shipped is not None)
    if image:
        return _in_image(image, recipe, instance)
    config = instance.install_config
    if own is None and config is not None:
        is_whole = bool(config.python) and not config.needs_conda(instance.requirements)
        if is_whole or not instance.own_image or sources.choice is EnvironmentChoice.RECIPES:
            recipe = _recipe_of(instance.repo, config, instance.requirements)
    if recipe is not None:
        return _by_recipe(recipe, sources.image_fault, read)
    if instance.own_image and sources.choice is EnvironmentChoice.AUTO:
        return _in_image(instance.own_image, None, instance)
    detected = sources.detect(instance) if sources.detect is not None else None
    if detected is None:
        version = f" {instance.version}" if instance.version else ""
        raise UnknownEnvironmentError(
            f"no recipe for {instance.repo}{version}; give one with --recipes, an image with "
            "--image-template, or find the set-up by trying with --detect"
        )
    return detected


def _image_for(
    instance: SwebenchInstance,
    sources: EnvironmentSources,
    own: InstallRecipe | None,
    *,
    is_known: bool,
) -> str:
    """The image to use; empty: a recipe comes first."""
    match sources.choice:
        case EnvironmentChoice.RECIPES:
            return ""
        case EnvironmentChoice.IMAGES:
            image = _official_image(instance, is_known=is_known)
            if sources.image_template is not None:
                image = _image_name(instance, sources.image_template)
            if not image:
                message = "names no image; give one with --image-template"
                raise UnknownEnvironmentError(message)
            fault = sources.image_fault(image) if sources.image_fault is not None else None
            if fault is not None:
                message = f"{fault}; --environment auto can use a recipe instead"
                raise UnknownEnvironmentError(message)
            return image
        case EnvironmentChoice.AUTO:
            if own is not None:
                return ""
            if sources.image_template is not None:
                return _image_name(instance, sources.image_template)
            image, find_fault = _official_image(instance, is_known=is_known), sources.image_fault
            is_there = image and find_fault is not None and find_fault(image) is None
            return image if is_there else ""


def _official_image(instance: SwebenchInstance, *, is_known: bool) -> str:
    """The image that the instance names, or SWE-bench's image for its projects; or none."""
    return instance.own_image or (_image_name(instance, _OFFICIAL_IMAGE) if is_known else "")


def _by_recipe(
    recipe: InstallRecipe, image_fault: ImageFault | None, read: ReadFile
) -> InstanceEnvironment:
    python = recipe.python
    if python is not None and image_fault is not None and recipe.fallback_pythons:
        # The first alternative with an image, if that of the recipe's Python is missing.
        pythons = (python, *recipe.fallback_pythons)
        available = (each for each in pythons if image_fault(base_image_name(each)) is None)
        python = next(available, python)
    if python in PYTHONS_WITHOUT_DATES:
        recipe = recipe.replace(uploaded_before=None)
    image = base_image_name(python) if python is not None else None
    if (toolchain := parse_tools(recipe.tools, python or DEFAULT_PYTHON)) is not None:
        image = toolchain.image_name(python or DEFAULT_PYTHON)
    files = {}
    if recipe.apt:
        packages = " ".join(recipe.apt)
        base = image or base_image_name(DEFAULT_PYTHON)
        text = _APT_DOCKERFILE.format(image=base, packages=packages, user=_USER)
        files[DOCKERFILE] = text.encode()
    return InstanceEnvironment(
        environment=_environment(
            None if files else image,
            files,
            recipe,
            pip=DATING_PIP if recipe.uploaded_before is not None else None,
        ),
        setup=_setup_of(recipe, read),
        command=recipe.test_command,
        runner=recipe.runner,
        report=recipe.report,
        before=recipe.before,
        files=files,
        summary=f"{', '.join(recipe.tools) or f'Python {python or DEFAULT_PYTHON}'}, by a recipe",
        replaces=recipe.python or "" if python != recipe.python else "",
    )


def _setup_of(recipe: InstallRecipe, read: ReadFile) -> TaskSetup:
    """The set-up of a recipe; its instances share packages that need none of their files."""
    shared: list[str] = []
    own: list[str] = []
    if recipe.packages:
        # A dated recipe also replaces what the base image has.
        newer = " --force-reinstall" if recipe.uploaded_before is not None else ""
        packages = " ".join(
            each if re.fullmatch(r"[\w.=-]+", each) else f"'{each}'" for each in recipe.packages
        )
        needs_files = not all(map(_NEEDS_NO_FILE.match, recipe.packages))
        is_own = needs_files or any("pip" in command for command in recipe.pre_install)
        (own if is_own else shared).append(f"{_PIP}{newer} {packages}")
    listed = None if own else _listed_requirements(recipe, read)
    if listed is not None:
        shared += [f"{_PIP} {' '.join(map(shlex.quote, listed))}"] if listed else []
    elif recipe.requirements:
        tests = [f"if [ -f {name} ]; then {_PIP} -r {name};" for name in recipe.requirements]
        own.append(f"{' el'.join(tests)} fi")
    if recipe.install:
        own.append(recipe.install)
    if recipe.uploaded_before is not None:
        settings = f"PIP_UPLOADED_PRIOR_TO={recipe.uploaded_before}T00:00:00Z {_EDITABLE_AS_THEN}"
        shared, own = ([f"export {settings}; {each}" for each in some] for some in (shared, own))
    return TaskSetup(
        shared=tuple(shared), commands=(*recipe.pre_install, *own), timeout_s=_SETUP_SECONDS
    )


def _listed_requirements(recipe: InstallRecipe, read: ReadFile) -> list[str] | None:
    """The requirements in a recipe's file, if no other file and no command affects them."""
    texts = (text for name in recipe.requirements if (text := read(name)) is not None)
    text = next(texts, None)
    if text is None or any(re.search("pip|require", each) for each in recipe.pre_install):
        return None
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
    try:
        found = [Requirement(line) for line in lines if line]
    except InvalidRequirement:
        return None
    return None if any(each.url for each in found) else [str(each) for each in found]


def _in_image(
    image: str, recipe: InstallRecipe | None, instance: SwebenchInstance
) -> InstanceEnvironment:
    if not _IMAGE.fullmatch(image):
        raise UnknownEnvironmentError(f"{image[:80]!r} is not the name of an image")
    files = {
        DOCKERFILE: _DATASET_IMAGE_DOCKERFILE.format(
            image=image, folder=instance.image_folder
        ).encode()
    }
    config = instance.install_config
    if recipe is not None:
        command = recipe.test_command
    elif config is not None and config.test_cmd:
        command = _test_command("install_config.test_cmd", config.test_cmd)
    else:
        command = _test_command("test_cmds", instance.test_cmds)
    return InstanceEnvironment(
        environment=_environment(None, files, recipe),
        setup=TaskSetup(commands=(_COPY_INSTALLED_FILES,), timeout_s=_SETUP_SECONDS, network=False),
        command=command,
        runner=recipe.runner if recipe is not None else None,
        report=recipe.report if recipe is not None else "",
        before=recipe.before if recipe is not None else (),
        files=files,
        summary=f"image {image}",
    )


def _environment(
    image: str | None,
    files: Mapping[str, bytes],
    recipe: InstallRecipe | None,
    *,
    pip: str | None = None,
) -> EnvironmentTable:
    table = EnvironmentTable(image=image, dockerfile=DOCKERFILE if files else None)
    if recipe is None:
        return table
    memory = recipe.memory_mib or table.memory_mib
    return EnvironmentTable.model_validate(
        {**table.model_dump(), "env": recipe.env, "memory_mib": memory, "pip": pip}
    )


def _test_command(field_name: str, commands: Sequence[str]) -> str:
    """The command of a data set's test commands; any pytest command becomes `pytest`."""
    found = dict.fromkeys(
        "pytest" if _ANY_PYTEST.fullmatch(command.strip()) else command.strip()
        for command in commands
    )
    wrong = [
        each
        for each in found
        if each != "pytest" and not _ANY_OTHER.fullmatch(each) and not _starts_other_runner(each)
    ]
    if wrong or len(found) > 1:
        raise UnknownEnvironmentError(
            f"{field_name} is {(wrong or list(found))[-1][:80]!r}, and agentbench judges with one "
            "command for pytest, unittest, Django's runtests.py, go test, cargo test, jest, "
            "vitest, mocha or node --test; a recipe can give another one"
        )
    return next(iter(found), "pytest")


def _starts_other_runner(command: str) -> bool:
    """Whether a command without a shell's operators starts a runner of another language."""
    try:
        return parse_test_command(command).runner not in PYTHON_RUNNERS
    except ValueError:
        return False


def _recipe_of(repo: str, config: InstallConfig, frozen: str) -> InstallRecipe:
    """The environment in a SWE-rebench instance, with the frozen requirements of its image."""
    command = _test_command("install_config.test_cmd", config.test_cmd)
    is_python = parse_test_command(command).runner in PYTHON_RUNNERS
    if config.needs_conda(frozen):
        raise UnknownEnvironmentError(
            "install_config.packages is environment.yml, which needs conda; give an image with "
            "--image-template"
        )
    try:
        return InstallRecipe(
            repo=repo,
            python=config.python or None,
            apt=apt_packages(config.pre_install)[0],
            pre_install=config.commands(frozen),
            packages=config.requirements() if is_python else (),
            install=config.install or (_EDITABLE if is_python else ""),
            test_command=command,
            env=config.env_vars,
        )
    except ValidationError as error:
        fault = describe_validation_error(error.errors()[0], InstallRecipe)
        raise UnknownEnvironmentError(f"install_config: {fault}") from None


def _image_name(instance: SwebenchInstance, template: str) -> str:
    names = _template_names(instance.instance_id, instance.repo, instance.own_image)
    name = _fill_template(template, names)
    if not _IMAGE.fullmatch(name):
        raise UnknownEnvironmentError(
            f"--image-template gives {name!r}, which is not the name of an image"
        )
    return name


def _template_names(instance_id: str, repo: str, image: str) -> dict[str, str]:
    """The placeholders of a template.

    Docker Hub allows no double underscore: SWE-bench writes `_1776_` for it, and SWE-Gym `_s_`.
    """
    lowered = instance_id.lower()
    return {
        "instance_id": lowered,
        "hub_id": lowered.replace("__", "_1776_"),
        "gym_id": lowered.replace("__", "_s_"),
        "repo": repo.lower(),
        "image": image,
    }


def _fill_template(template: str, names: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: names[found[1]], template)
