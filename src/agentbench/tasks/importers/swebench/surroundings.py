"""What an instance is set up and tested in: by a recipe, by its own words, or in its image."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from agentbench.tasks.importers.swebench.instance import InstallConfig, Instance
from agentbench.tasks.importers.swebench.recipes import Recipe, Recipes, find_recipe
from agentbench.tasks.task_fault import describe_fault
from agentbench.tasks.task_file import EnvironmentTable, PytestTable, SetupTable

DOCKERFILE: Final = "environment/Dockerfile"
_BASE = "agentbench/python"
_SETUP_SECONDS = 1800.0
_TEST_SECONDS = 1800.0  # what SWE-bench's own tool gives them
_USER = "1000:1000"
_PIP = "python -m pip install"
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_IMAGE = re.compile(r"[a-zA-Z0-9][\w./:@-]*")
_ANY_PYTEST = re.compile(r"(?:python3? -m )?pytest\b[^|&;<>`$\n]*")

# The images hold the repository in /testbed, installed there in a way that leads to it. Its history
# tells of the fix, so it goes; what the installation made there is copied to where agents work.
_ON_IMAGE = """\
FROM {image}
USER root
RUN rm -rf /testbed/.git && mv /testbed /testbed-made && chmod -R a+rX /testbed-made \\
    && ln -s /workspace /testbed
ENV PATH="/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/bin:$PATH"
"""
# Not `cp -n`: some versions of it fail where a file is there already.
_FROM_IMAGE = "tar -C /testbed-made -cf - . | tar -xf - --skip-old-files"

_WITH_APT = """\
FROM {image}
USER root
RUN apt-get update && apt-get install --yes --no-install-recommends {packages} \\
    && rm -rf /var/lib/apt/lists/*
USER {user}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Three tables of a task.toml, and the files that they name."""

    environment: EnvironmentTable
    setup: SetupTable
    command: str = "pytest"
    files: Mapping[str, bytes] = field(default_factory=dict)

    def tests(self) -> PytestTable:
        """How tests are run, without which of them decide."""
        return PytestTable(command=self.command, timeout_s=_TEST_SECONDS)


class UnknownSurroundingsError(ValueError):
    """Nobody knows how an instance is set up, or it cannot be done here; the text says why."""


Detect = Callable[[Instance], Surroundings | None]
"""Finds out what a project needs that nobody has described; None: it does not know either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where it may be written how an instance is set up, first one first."""

    own: Sequence[Recipes] = ()
    image_template: str | None = None
    shipped: Sequence[Recipes] = ()
    detect: Detect | None = None


def surroundings_of(instance: Instance, sources: Sources) -> Surroundings:
    """What an instance is set up in.

    Raises:
        UnknownSurroundingsError: no source knows, or its tests cannot be judged here.
    """
    try:
        return _found(instance, sources)
    except ValidationError as error:
        fault = describe_fault(error.errors()[0], EnvironmentTable)
        raise UnknownSurroundingsError(f"its set-up makes no task: {fault}") from None


def check_template(template: str) -> None:
    """Refuse a template that names no image.

    Raises:
        ValueError: it bears an unknown placeholder, or what it gives is no image's name.
    """
    known = _names_in("owner__name-1", "owner/name", "registry/image:tag")
    wrong = [name for name in _PLACEHOLDER.findall(template) if name not in known]
    if wrong:
        takes = ", ".join(f"{{{name}}}" for name in known)
        raise ValueError(f"unknown placeholder {{{wrong[0]}}}; known: {takes}")
    if not _IMAGE.fullmatch(_filled(template, known)):
        raise ValueError(f"{template!r} names no image")


def _found(instance: Instance, sources: Sources) -> Surroundings:
    own = find_recipe(sources.own, instance.repo, instance.version)
    shipped = find_recipe(sources.shipped, instance.repo, instance.version)
    recipe = own or shipped
    if recipe is not None and recipe.refuse:
        raise UnknownSurroundingsError(recipe.refuse)
    if own is not None:
        return _by_recipe(own)
    if sources.image_template is not None:
        return _in_image(_image_name(instance, sources.image_template), recipe)
    if instance.install_config is not None:
        return _by_recipe(_recipe_of(instance.repo, instance.install_config))
    if recipe is not None:
        return _by_recipe(recipe)
    if instance.own_image:
        return _in_image(instance.own_image, None)
    detected = sources.detect(instance) if sources.detect is not None else None
    if detected is None:
        version = f" {instance.version}" if instance.version else ""
        raise UnknownSurroundingsError(
            f"no recipe says how {instance.repo}{version} is set up; give one with --recipes, "
            "an image with --image-template, or let it be tried out with --detect"
        )
    return detected


def _by_recipe(recipe: Recipe) -> Surroundings:
    image = f"{_BASE}:{recipe.python}" if recipe.python is not None else None
    commands = [*recipe.pre_install]
    if recipe.packages:
        commands.append(f"{_PIP} {' '.join(_quoted(each) for each in recipe.packages)}")
    if recipe.requirements:
        tests = [f"if [ -f {name} ]; then {_PIP} -r {name};" for name in recipe.requirements]
        commands.append(f"{' el'.join(tests)} fi")
    if recipe.install:
        commands.append(recipe.install)
    files = {}
    if recipe.apt:
        packages = " ".join(recipe.apt)
        text = _WITH_APT.format(image=image or f"{_BASE}:3.11", packages=packages, user=_USER)
        files[DOCKERFILE] = text.encode()
    return Surroundings(
        environment=_environment(None if files else image, files, recipe),
        setup=SetupTable(commands=tuple(commands), timeout_s=_SETUP_SECONDS),
        command=recipe.test_command,
        files=files,
    )


def _in_image(image: str, recipe: Recipe | None) -> Surroundings:
    files = {DOCKERFILE: _ON_IMAGE.format(image=image).encode()}
    return Surroundings(
        environment=_environment(None, files, recipe),
        setup=SetupTable(commands=(_FROM_IMAGE,), timeout_s=_SETUP_SECONDS, network=False),
        command=recipe.test_command if recipe is not None else "pytest",
        files=files,
    )


def _environment(
    image: str | None, files: Mapping[str, bytes], recipe: Recipe | None
) -> EnvironmentTable:
    table = EnvironmentTable(image=image, dockerfile=DOCKERFILE if files else None)
    if recipe is None:
        return table
    memory = recipe.memory_mib or table.memory_mib
    return EnvironmentTable.model_validate(
        {**table.model_dump(), "env": recipe.env, "memory_mib": memory}
    )


def _recipe_of(repo: str, told: InstallConfig) -> Recipe:
    """What SWE-rebench says of one instance; of its test command only the kind counts."""
    if told.test_cmd and not _ANY_PYTEST.fullmatch(told.test_cmd.strip()):
        raise UnknownSurroundingsError(
            f"install_config.test_cmd is {told.test_cmd[:80]!r}, and agentbench judges with pytest"
        )
    try:
        return Recipe(
            repo=repo,
            python=told.python or None,
            pre_install=told.pre_install or (),
            packages=("pytest", *(told.pip_packages or ())),
            install=told.install or Recipe.model_fields["install"].default,
        )
    except ValidationError as error:
        fault = describe_fault(error.errors()[0], Recipe)
        raise UnknownSurroundingsError(f"install_config: {fault}") from None


def _image_name(instance: Instance, template: str) -> str:
    name = _filled(template, _names_in(instance.instance_id, instance.repo, instance.own_image))
    if not _IMAGE.fullmatch(name):
        raise UnknownSurroundingsError(f"--image-template gives {name!r}, which names no image")
    return name


def _names_in(instance_id: str, repo: str, image: str) -> dict[str, str]:
    """What a template may hold. Docker Hub's names of them have `_1776_` for two underscores."""
    lowered = instance_id.lower()
    return {
        "instance_id": lowered,
        "hub_id": lowered.replace("__", "_1776_"),
        "repo": repo.lower(),
        "image": image,
    }


def _filled(template: str, names: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: names[found[1]], template)


def _quoted(requirement: str) -> str:
    return requirement if re.fullmatch(r"[\w.=-]+", requirement) else f"'{requirement}'"
