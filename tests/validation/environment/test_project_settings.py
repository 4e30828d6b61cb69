from datetime import date

import pytest

from agentbench.tasks.project_declaration import ProjectDeclaration
from agentbench.tasks.test_command import parse_test_command
from agentbench.validation.environment.project_settings import (
    PLAIN_COMMAND,
    PytestSettings,
    choose_python,
    judged_command,
    read_pytest_settings,
)
from tests.validation.environment.trees import write_tree

NOTHING = ProjectDeclaration()


@pytest.mark.parametrize("text", ["3.9\n", "3.9.18", "cpython-3.9.1"])
def test_python_version_file_decides(tmp_path, text):
    tree = write_tree(tmp_path, {".python-version": text})
    found = choose_python(tree, ProjectDeclaration(pythons=("3.12",)), date(2025, 1, 1))
    assert found is not None
    assert (found.version, found.why) == ("3.9", ".python-version")


def test_newest_admitted_classifier_is_next(tmp_path):
    declared = ProjectDeclaration(pythons=("3.8", "3.10", "3.13"), requires_python=(">=3.7,<3.13",))
    found = choose_python(tmp_path, declared, None)
    assert found is not None
    assert found.version == "3.10"


@pytest.mark.parametrize(
    ("on", "version"),
    [(date(2021, 10, 3), "3.9"), (date(2021, 10, 4), "3.10"), (date(2026, 1, 1), "3.14")],
)
def test_newest_python_of_the_day_is_the_default(tmp_path, on, version):
    found = choose_python(tmp_path, NOTHING, on)
    assert found is not None
    assert found.version == version


def test_without_a_day_an_upper_bound_decides(tmp_path):
    found = choose_python(tmp_path, ProjectDeclaration(requires_python=("<3.10",)), None)
    assert found is not None
    assert found.version == "3.9"


@pytest.mark.parametrize("requires", [(), (">=3.8",), ("not a specifier",)])
def test_project_without_declarations_requests_no_python(tmp_path, requires):
    assert choose_python(tmp_path, ProjectDeclaration(requires_python=requires), None) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "pytest.ini",
            "[pytest]\ntestpaths = a b\naddopts =\n    -ra\n    -q\nasyncio_mode = auto",
        ),
        ("tox.ini", "[pytest]\ntestpaths = a b\naddopts = -ra -q\nasyncio_mode = auto"),
        (
            "setup.cfg",
            "[tool:pytest]\ntestpaths =\n  a\n  b\naddopts = -ra -q\nasyncio_mode = auto",
        ),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\ntestpaths = ["a", "b"]\naddopts = "-ra -q"\n'
            'asyncio_mode = "auto"',
        ),
        (
            "pytest.toml",
            '[pytest]\ntestpaths = ["a", "b"]\naddopts = ["-ra", "-q"]\nasyncio_mode = "auto"',
        ),
    ],
)
def test_settings_are_read_from_all_files_of_pytest(tmp_path, name, text):
    found = read_pytest_settings(write_tree(tmp_path, {name: text}))
    assert found.where == name
    assert found.test_paths == ("a", "b")
    assert found.added_options == "-ra -q"
    assert "asyncio_mode" in found.names


def test_first_configuration_file_counts(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "tox.ini": "[pytest]\naddopts = -x",
            "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"',
            "setup.cfg": "[tool:pytest]\naddopts = -v",
        },
    )
    assert read_pytest_settings(tree).where == "pyproject.toml"


def test_required_plugins_are_known(tmp_path):
    text = "[pytest]\nrequired_plugins = pytest-mock pytest-cov>=2"
    tree = write_tree(tmp_path, {"pytest.ini": text})
    assert read_pytest_settings(tree).plugins == ("pytest-mock", "pytest-cov>=2")


@pytest.mark.parametrize(
    ("options", "stored"),
    [
        ("-ra --cov=x --cov-report term", "-ra term"),
        ("--cov x -ra", "-ra"),
        ("-n auto -q", "-q"),
        ("-nauto -q --maxfail=1 -x", "-q"),
        ("--numprocesses 2 --dist loadfile tests", "tests"),
        ("-k 'not slow' -x", "-k 'not slow'"),
    ],
)
def test_disturbing_options_are_removed(options, stored):
    command = judged_command(PytestSettings(added_options=options))
    assert parse_test_command(command).options == ("-o", f"addopts={stored}")


@pytest.mark.parametrize("options", ["", "-ra --strict-markers", "unbalanced '", "-p no:x"])
def test_other_options_are_kept(options):
    assert judged_command(PytestSettings(added_options=options)) == PLAIN_COMMAND
