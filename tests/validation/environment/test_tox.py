from agentbench.tasks.project_files import parse_ini
from agentbench.validation.environment.install_strategies import (
    nox_bundles,
    tox_bundles,
    tox_environment,
)
from tests.validation.environment.trees import write_tree

TOX = """\
[tox]
envlist = py3
[testenv]
deps =
    pytest
    -r{toxinidir}/requirements.txt
    py27: mock
    {[base]deps}
    -r ../outside.txt
extras =
    test
    more
setenv =
    TZ = UTC
    HERE = {toxinidir}
    PYTHONHASHSEED=0
commands = pytest {posargs}
"""


def test_what_testenv_installs_is_one_bundle(tmp_path):
    tree = write_tree(tmp_path / "tree", {"requirements.txt": "six\n"})
    (bundle,) = tox_bundles(parse_ini(TOX), tree)
    assert bundle.extras == ("test", "more")
    assert bundle.files == ("requirements.txt",)
    assert bundle.requirements == ("pytest",)
    assert bundle.known_requirements == ("six",)


def test_a_file_without_testenv_has_no_bundle(tmp_path):
    assert list(tox_bundles(parse_ini("[flake8]\nx = 1"), tmp_path)) == []


def test_variables_with_plain_values_are_taken():
    assert tox_environment(parse_ini(TOX)) == {"TZ": "UTC", "PYTHONHASHSEED": "0"}


def test_what_nox_sessions_of_tests_install_is_read_and_not_run(tmp_path):
    tree = write_tree(tmp_path, {"requirements.txt": "six\n"})
    text = """
import nox
raise SystemExit("run")
@nox.session
def tests(session):
    session.install("-e", ".[test]", "pytest", "-r", "requirements.txt")
    session.install(*more)
@nox.session
def lint(session):
    session.install("ruff")
"""
    (bundle,) = nox_bundles(text, tree)
    assert bundle.where == "session `tests` of noxfile.py"
    assert bundle.extras == ("test",)
    assert bundle.files == ("requirements.txt",)
    assert bundle.requirements == ("pytest",)


def test_no_noxfile_has_no_bundle(tmp_path):
    assert list(nox_bundles(None, tmp_path)) == []
