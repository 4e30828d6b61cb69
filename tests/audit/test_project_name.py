from pathlib import PurePosixPath

import pytest

from agentbench.audit.base_tree import BaseTree, project_names


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("pyproject.toml", '[project]\nname = "My.Shop"\n', "my-shop"),
        ("pyproject.toml", '[tool.poetry]\nname = "shop"\n', "shop"),
        ("setup.cfg", "[metadata]\nname = the_shop\n", "the-shop"),
        ("setup.py", "from setuptools import setup\nsetup(name='shop', version='1')\n", "shop"),
    ],
)
def test_a_name_is_found_where_projects_write_it(file, text, name):
    assert project_names(BaseTree(contents={PurePosixPath(file): text.encode()})) == {name}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "not toml ["),
        ("pyproject.toml", "project = 1\ntool = 2\n"),
        ("pyproject.toml", "[project]\nname = 3\n"),
        ("pyproject.toml", "a = " + "[" * 10_000),
        ("setup.cfg", "no section\n"),
        ("setup.cfg", "[metadata]\nversion = 1\n"),
        ("setup.cfg", "[metadata]\nname" + " " * 1_000_000 + "x\n"),
        ("setup.py", "def ("),
        ("setup.py", "setup(name=NAME)\n"),
        ("setup.py", "(" * 10_000),
        ("other.toml", '[project]\nname = "x"\n'),
    ],
)
def test_where_there_is_none_there_is_none(file, text):
    assert project_names(BaseTree(contents={PurePosixPath(file): text.encode()})) == frozenset()
