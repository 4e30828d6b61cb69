"""Recipes: the set-up and tests of a data set's projects, by their versions."""

import tomllib
from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, ValidationError, model_validator

from agentbench.core.files import describe_read_error, read_regular_file
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError
from agentbench.tasks.scripts import ShellLine
from agentbench.tasks.task_file import TestLine, with_usual_command
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import Runner

_SHIPPED = "recipes.toml"
PYTHONS_WITHOUT_DATES: Final = frozenset({"3.6", "3.7", "3.8"})
"""The newest pip of these versions cannot ignore files by their date."""


class InstallRecipe(Schema):
    """The set-up and the tests of some versions of one project."""

    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    versions: tuple[str, ...] = ()  # the versions; none: all without an earlier recipe
    python: Annotated[str, Field(pattern=r"^3\.\d{1,2}$")] | None = None
    apt: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")], ...] = ()
    """Debian packages."""
    pre_install: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Requirement files of the repository; the first one that exists is installed."""
    packages: tuple[str, ...] = ()  # the requirements that pip installs before the project
    fallback_pythons: tuple[Annotated[str, Field(pattern=r"^3\.\d{1,2}$")], ...] = ()
    """Alternatives for machines without an image for `python`, the best one first."""
    uploaded_before: date | None = None
    """Pip ignores files that were uploaded later; only for Python 3.9 and newer, whose pip can."""
    install: str = "python -m pip install -e ."
    runner: Runner | None = None  # None: the one that the command starts
    test_command: TestLine = "pytest"
    """`{files}` in it and in `before` are the files of tests, `{stem}` the name of the first."""
    report: str = ""  # the files that the command writes, for the runner `junit`
    before: tuple[ShellLine, ...] = ()
    """Commands before every judged run, such as the build of an extension."""
    env: dict[str, str] = Field(default_factory=dict)
    memory_mib: int | None = None
    tools: tuple[str, ...] = ()
    """What the image has besides Python, as `agentbench images build --with` takes it."""
    refuse: str = ""  # why its tests cannot be judged here; the other fields are then unused

    @property
    def test_runner(self) -> Runner:
        """The runner of its tests."""
        return parse_test_command(self.test_command, self.runner).runner

    @model_validator(mode="before")
    @classmethod
    def _usual_command(cls, values: object) -> object:
        """The values, with the usual command of a runner if they give none."""
        return with_usual_command(values, "test_command")

    @model_validator(mode="after")
    def _check_date(self) -> Self:
        pythons = {self.python, *self.fallback_pythons}
        if self.uploaded_before is not None and pythons <= PYTHONS_WITHOUT_DATES:
            raise ValueError(
                "uploaded_before needs Python 3.9 or newer: the pip of older ones "
                "cannot ignore files by their date"
            )
        return self


class InstallRecipes(Schema):
    """A file of recipes."""

    source: str = ""  # the source of its facts
    recipe: tuple[InstallRecipe, ...]


@cache
def shipped_recipes() -> InstallRecipes:
    """The recipes that agentbench ships."""
    text = (files("agentbench.extensions.swebench") / _SHIPPED).read_text("utf-8")
    return _parse_recipes(text, _SHIPPED)


def read_recipes(path: Path) -> InstallRecipes:
    """A user's own recipes.

    Raises:
        InputError: the file cannot be read or is invalid; names every fault.
    """
    try:
        text = read_regular_file(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = describe_read_error(error)
        raise InputError(f"{path}: expected a file of recipes, cannot read it: {why}") from None
    return _parse_recipes(text, str(path))


def find_recipe(tables: Sequence[InstallRecipes], repo: str, version: str) -> InstallRecipe | None:
    """The first recipe for a version of a project."""
    matching = (
        recipe
        for table in tables
        for recipe in table.recipe
        if recipe.repo.lower() == repo.lower()
        and (not recipe.versions or version in recipe.versions)
    )
    return next(matching, None)


def _parse_recipes(text: str, where: str) -> InstallRecipes:
    try:
        return InstallRecipes.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{where}: expected TOML: {error}") from None
    except ValidationError as error:
        faults = (describe_validation_error(each, InstallRecipes) for each in error.errors())
        raise InputError(*(f"{where}: {fault}" for fault in faults)) from None
