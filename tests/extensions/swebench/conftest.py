"""What tests of the import of SWE-bench's files share."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.extensions.swebench.environments import EnvironmentSources
from agentbench.extensions.swebench.import_state import ImportStates
from agentbench.extensions.swebench.importing import (
    ImportSelection,
    SwebenchImportResult,
    file_source,
    import_batches,
)
from agentbench.extensions.swebench.recipes import read_recipes
from agentbench.tasks.mirror import Mirrors
from tests.cli.conftest import cli as cli
from tests.cli.conftest import runs_dir as runs_dir
from tests.cli.conftest import sandbox as sandbox
from tests.cli.conftest import tasks as tasks
from tests.extensions.swebench.instances import RECIPES, Project, write_lines


def import_all(path: Path, choice: ImportSelection, mirrors: Mirrors) -> SwebenchImportResult:
    """Import a file in one batch, and forget what its states say."""
    states = ImportStates(choice.out)
    (choice.out / ".import").mkdir(parents=True, exist_ok=True)
    (result,) = import_batches(file_source(path), choice, mirrors, states, size=1000)
    shutil.rmtree(choice.out / ".import")
    return result


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    return tmp_path / "repos"


@pytest.fixture
def project(repos: Path) -> Project:
    return Project(repos)


@pytest.fixture
def sources(tmp_path: Path) -> EnvironmentSources:
    path = tmp_path / "recipes.toml"
    path.write_text(RECIPES)
    return EnvironmentSources(own=[read_recipes(path)])


@pytest.fixture
def take(
    tmp_path: Path, repos: Path, sources: EnvironmentSources
) -> Callable[..., SwebenchImportResult]:
    """Import some entries, as lines of a file `in.jsonl`."""

    def take(*entries: object, **settings: object) -> SwebenchImportResult:
        given = {"out": tmp_path / "tasks", "repos": repos, "sources": sources, **settings}
        path = write_lines(tmp_path / "in.jsonl", *entries)
        return import_all(path, ImportSelection(**given), Mirrors(tmp_path / "mirrors"))

    return take
