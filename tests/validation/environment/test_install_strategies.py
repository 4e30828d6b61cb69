from datetime import date

import pytest

from agentbench.validation.environment.install_strategies import (
    InstallStrategy,
    setup_commands,
    version_variables,
)
from tests.validation.environment.trees import write_tree

WHOLE = InstallStrategy(
    project=True, extras=("test",), files=("r.txt",), requirements=("mock", "attrs>=20", "mock")
)


def test_everything_is_installed_by_one_command():
    assert setup_commands(WHOLE) == (
        "python -m pip install -e '.[test]' -r r.txt mock 'attrs>=20'",
    )


def test_nothing_to_install_needs_no_command():
    assert setup_commands(InstallStrategy(project=False)) == ()


def test_a_day_bounds_every_download_and_pytest_is_of_that_day():
    upgrade, pytest_of_then, own = setup_commands(WHOLE, on=date(2021, 12, 31))
    assert upgrade == "python -m pip install --upgrade 'pip>=26.0'"
    bound = "--uploaded-prior-to=2022-01-01T00:00:00Z"
    assert pytest_of_then == f"python -m pip install --force-reinstall {bound} pytest"
    assert own.startswith(f"python -m pip install {bound} -e '.[test]'")


def test_names_from_a_project_are_words_and_no_commands():
    hostile = InstallStrategy(project=True, extras=("x;reboot",), requirements=("a $(reboot)",))
    (command,) = setup_commands(hostile)
    assert command == "python -m pip install -e '.[x;reboot]' 'a $(reboot)'"


@pytest.mark.parametrize(
    ("described", "variable"),
    [
        ({"pyproject.toml": 'requires = ["hatch-vcs"]'}, "SETUPTOOLS_SCM_PRETEND_VERSION"),
        ({"setup.py": "setup(use_scm_version=True)"}, "SETUPTOOLS_SCM_PRETEND_VERSION"),
        ({"setup.py": "setup(setup_requires=['pbr'], pbr=True)"}, "PBR_VERSION"),
    ],
)
def test_a_build_that_would_ask_git_is_told_the_releases_version(tmp_path, described, variable):
    tree = write_tree(tmp_path, {"PKG-INFO": "Metadata-Version: 2.1\nVersion: 1.4\n", **described})
    assert version_variables(tree) == {variable: "1.4"}


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": "use_scm_version"},
        {"PKG-INFO": "Version: 1.4"},
        {"PKG-INFO": "Version: $(reboot)", "setup.py": "use_scm_version"},
        {"PKG-INFO": "", "setup.py": "use_scm_version"},
    ],
)
def test_else_nothing_is_told(tmp_path, files):
    assert version_variables(write_tree(tmp_path, files)) == {}
