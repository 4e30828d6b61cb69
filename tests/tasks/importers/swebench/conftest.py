"""What tests of the import of SWE-bench's files share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.tasks.importers.swebench.importing import Choice, Imported, import_file
from agentbench.tasks.importers.swebench.recipes import read_recipes
from agentbench.tasks.importers.swebench.surroundings import Sources
from agentbench.tasks.mirror import Mirrors
from tests.tasks.importers.swebench.instances import RECIPES, Project, write_lines


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    return tmp_path / "repos"


@pytest.fixture
def project(repos: Path) -> Project:
    return Project(repos)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    path = tmp_path / "recipes.toml"
    path.write_text(RECIPES)
    return Sources(own=[read_recipes(path)])


@pytest.fixture
def take(tmp_path: Path, repos: Path, sources: Sources) -> Callable[..., Imported]:
    """Import some entries, as lines of a file `in.jsonl`."""

    def take(*entries: object, **settings: object) -> Imported:
        given = {"out": tmp_path / "tasks", "repos": repos, "sources": sources, **settings}
        path = write_lines(tmp_path / "in.jsonl", *entries)
        return import_file(path, Choice(**given), Mirrors(tmp_path / "mirrors"))

    return take
