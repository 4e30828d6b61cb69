import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.validation.environment.project_settings import (
    PLAIN_COMMAND,
    PytestSettings,
    judged_command,
    read_pytest_settings,
)
from tests.validation.environment.trees import write_tree


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
def test_settings_are_read_from_every_file_that_pytest_reads(tmp_path, name, text):
    found = read_pytest_settings(write_tree(tmp_path, {name: text}))
    assert found.where == name
    assert found.test_paths == ("a", "b")
    assert found.added_options == "-ra -q"
    assert "asyncio_mode" in found.names


def test_of_several_files_the_one_that_pytest_takes_counts(tmp_path):
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
    ("options", "kept"),
    [
        ("-ra --cov=x --cov-report term", "-ra term"),
        ("--cov x -ra", "-ra"),
        ("-n auto -q", "-q"),
        ("-nauto -q --maxfail=1 -x", "-q"),
        ("--numprocesses 2 --dist loadfile tests", "tests"),
        ("-k 'not slow' -x", "-k 'not slow'"),
    ],
)
def test_options_that_would_spoil_a_judged_run_are_left_out(options, kept):
    command = judged_command(PytestSettings(added_options=options))
    assert parse_test_command(command).options == ("-o", f"addopts={kept}")


@pytest.mark.parametrize("options", ["", "-ra --strict-markers", "unbalanced '", "-p no:x"])
def test_options_that_spoil_nothing_are_left_to_the_project(options):
    assert judged_command(PytestSettings(added_options=options)) == PLAIN_COMMAND
