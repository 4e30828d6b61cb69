"""Which Python a project asks for, by its files or by those of a commit."""

from pathlib import Path

import pytest

from agentbench.sandbox.python_stacks import CHOSEN_PYTHONS, DEFAULT_PYTHON
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.project_versions import (
    NO_PYTHON_REQUESTED,
    RequestedPython,
    UnsupportedPythonError,
    mirror_reader,
    requested_python,
    tree_reader,
)
from agentbench.tasks.task import RepoSource
from tests.validation.environment.trees import write_tree


def asked(files: dict[str, str], supported: tuple[str, ...] = CHOSEN_PYTHONS) -> RequestedPython:
    return requested_python(files.get, supported=supported, default=DEFAULT_PYTHON)


def requires(text: str) -> dict[str, str]:
    return {"pyproject.toml": f'[project]\nname = "x"\nrequires-python = "{text}"\n'}


def classifiers(*versions: str) -> str:
    return "".join(f"    Programming Language :: Python :: {version}\n" for version in versions)


@pytest.mark.parametrize(
    ("specifier", "version"),
    [
        (">=3.8", "3.11"),
        (">=3.7,<4", "3.11"),
        ("~=3.9", "3.11"),
        (">=3.8,!=3.11.*", "3.10"),
        ("<3.10", "3.9"),
        (">=3.7,<3.9", "3.8"),
        ("==3.9.*", "3.9"),
        ("~=3.9.0", "3.9"),
        (">=3.9.1,<3.10", "3.9"),
        ("==3.10", "3.10"),
        (">=3.12", "3.12"),
        (">=3.13", "3.13"),
        ("no specifier", "3.11"),
    ],
)
def test_requires_python_gives_the_default_or_the_nearest_to_it(
    specifier: str, version: str
) -> None:
    assert asked(requires(specifier)).version == version


@pytest.mark.parametrize("specifier", ["<3.8", ">=3.15", "==2.7.*"])
def test_a_project_that_admits_no_version_is_refused_with_what_it_says(specifier: str) -> None:
    with pytest.raises(UnsupportedPythonError, match="Requires-Python is "):
        asked(requires(specifier))


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({}, "3.11"),
        ({"setup.cfg": "[options]\npython_requires = >=3.6, <3.10\n"}, "3.9"),
        ({"setup.py": "from setuptools import setup\nsetup(python_requires='>=3.12')\n"}, "3.12"),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.12"\n'}, "3.12"),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "~3.9"\n'}, "3.9"),
        ({"setup.cfg": f"[metadata]\nclassifiers =\n{classifiers('3.7', '3.8', '3.9')}"}, "3.9"),
        ({"setup.cfg": f"[metadata]\nclassifiers =\n{classifiers('3.10', '3.11')}"}, "3.11"),
        ({"setup.cfg": f"[metadata]\nclassifiers =\n{classifiers('3.13', '3.14')}"}, "3.13"),
        ({"setup.cfg": f"[metadata]\nclassifiers =\n{classifiers('3.6')}"}, "3.11"),
        ({".python-version": "3.9.18\n"}, "3.9"),
        ({".python-version": "cpython-3.12\n3.11\n"}, "3.12"),
        ({".python-version": "pypy3.9\n"}, "3.11"),
        ({**requires(">=3.8"), ".python-version": "3.13"}, "3.13"),
        ({**requires("<3.10"), ".python-version": "3.13"}, "3.9"),
        (
            {
                **requires(">=3.10"),
                "setup.cfg": "[options]\npython_requires = <3.11\n"
                f"[metadata]\nclassifiers =\n{classifiers('3.8')}",
            },
            "3.10",
        ),
        ({"pyproject.toml": "no [toml", "setup.cfg": "no ini", "setup.py": "no python ("}, "3.11"),
    ],
)
def test_python_version_is_read_from_each_declaration(files: dict[str, str], version: str) -> None:
    assert asked(files).version == version


def test_project_without_request_gets_default() -> None:
    assert asked({}) == RequestedPython(version=DEFAULT_PYTHON, why=NO_PYTHON_REQUESTED)
    assert asked(requires("<3.10")).why == "Requires-Python is <3.10"


@pytest.mark.parametrize("files", [{}, requires(">=3.8"), requires(">=3.12"), requires("<3.10")])
def test_a_newer_python_in_the_table_changes_nothing(files: dict[str, str]) -> None:
    assert asked(files) == asked(files, (*CHOSEN_PYTHONS, "3.15", "3.16"))


def test_folder_and_commit_give_same_declaration(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {**requires("==3.9.*"), "a.py": ""})
    mirror = Mirrors(tmp_path / "mirrors").of(RepoSource(files=tree))
    for read in (tree_reader(tree), mirror_reader(mirror)):
        found = requested_python(read, supported=CHOSEN_PYTHONS, default=DEFAULT_PYTHON)
        assert found.version == "3.9"
        assert read("setup.cfg") is None
