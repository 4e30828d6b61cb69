"""How projects are set up, version by version: a table that ships, and a user's own before it."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from agentbench.errors import InputError
from agentbench.schema import Schema
from agentbench.tasks.pytest_command import parse_pytest_command
from agentbench.tasks.task_fault import describe_fault

_SHIPPED = "recipes.toml"


def _command(command: str) -> str:
    parse_pytest_command(command)
    return command


class Recipe(Schema):
    """How some versions of one project are set up and tested."""

    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    versions: tuple[str, ...] = ()
    """Which it is for; none: all that no earlier recipe is for."""
    python: Annotated[str, Field(pattern=r"^3\.\d{1,2}$")] | None = None
    apt: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")], ...] = ()
    """Debian packages."""
    pre_install: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Files of the repository; the first that is there is installed."""
    packages: tuple[str, ...] = ()
    """What pip installs before the project."""
    install: str = "python -m pip install -e ."
    test_command: Annotated[str, AfterValidator(_command)] = "pytest"
    env: dict[str, str] = Field(default_factory=dict)
    memory_mib: int | None = None
    refuse: str = ""
    """Why its tests cannot be judged here; nothing else of it counts then."""


class Recipes(Schema):
    """A file of recipes."""

    source: str = ""
    """Where its facts are from."""
    recipe: tuple[Recipe, ...]


@cache
def shipped_recipes() -> Recipes:
    """The recipes that come with agentbench."""
    text = (files("agentbench.tasks.importers.swebench") / _SHIPPED).read_text("utf-8")
    return _parse(text, _SHIPPED)


def read_recipes(path: Path) -> Recipes:
    """A user's own recipes.

    Raises:
        InputError: the file cannot be read or is none of recipes; names every fault.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a file of recipes, cannot read it: {error}") from None
    return _parse(text, str(path))


def find_recipe(tables: Sequence[Recipes], repo: str, version: str) -> Recipe | None:
    """The first recipe that is for a version of a project."""
    every = (recipe for table in tables for recipe in table.recipe)
    return next(_fitting(every, repo, version), None)


def _fitting(recipes: Iterable[Recipe], repo: str, version: str) -> Iterator[Recipe]:
    return (
        recipe
        for recipe in recipes
        if recipe.repo.lower() == repo.lower()
        and (not recipe.versions or version in recipe.versions)
    )


def _parse(text: str, where: str) -> Recipes:
    try:
        return Recipes.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{where}: expected TOML: {error}") from None
    except ValidationError as error:
        faults = [f"{where}: {describe_fault(each, Recipes)}" for each in error.errors()]
        raise InputError(*faults) from None
