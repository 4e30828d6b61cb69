import sys
from datetime import date

import pytest
from packaging.requirements import Requirement

from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
)
from agentbench.tasks.project_files import parse_ini
from agentbench.validation.environment.found_tests import FoundTests
from agentbench.validation.environment.install_strategies import (
    DISTRIBUTION_OF_MODULE,
    PLUGINS_BY_FIXTURE,
    PLUGINS_BY_MARK,
    PLUGINS_BY_SETTING,
    InstallStrategy,
    install_strategies,
    nox_bundles,
    read_declarations,
    requirement_bundles,
    requirements_in,
    setup_commands,
    tox_bundles,
    tox_environment,
    version_variables,
)
from agentbench.validation.environment.project_settings import PytestSettings
from tests.validation.environment.trees import write_tree

WHOLE = InstallStrategy(
    project=True, extras=("test",), files=("r.txt",), requirements=("mock", "attrs>=20", "mock")
)


def test_all_requirements_are_installed_by_one_command():
    assert setup_commands(WHOLE) == (
        "python -m pip install -e '.[test]' -r r.txt mock 'attrs>=20'",
    )


def test_nothing_to_install_needs_no_command():
    assert setup_commands(InstallStrategy(project=False)) == ()


def test_downloads_are_limited_to_a_day():
    upgrade, pytest_of_then, own = setup_commands(WHOLE, on=date(2021, 12, 31))
    assert upgrade == "python -m pip install --upgrade 'pip>=26.0'"
    bound = "--uploaded-prior-to=2022-01-01T00:00:00Z"
    assert pytest_of_then == f"python -m pip install --force-reinstall {bound} pytest"
    assert own.startswith(f"python -m pip install {bound} -e '.[test]'")


def test_names_of_project_are_quoted():
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
def test_build_gets_version_of_release(tmp_path, described, variable):
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
def test_other_builds_get_no_version(tmp_path, files):
    assert version_variables(write_tree(tmp_path, files)) == {}


@pytest.mark.parametrize(
    "table", [DISTRIBUTION_OF_MODULE, PLUGINS_BY_FIXTURE, PLUGINS_BY_MARK, PLUGINS_BY_SETTING]
)
def test_known_names_are_valid_requirements(table):
    assert [str(Requirement(text)) for text in table.values()] == list(table.values())


def test_known_modules_are_not_in_python():
    assert DISTRIBUTION_OF_MODULE.keys().isdisjoint(sys.stdlib_module_names)


def test_requirement_files_are_found_by_name(tmp_path):
    names = [
        "requirements.txt",
        "requirements-dev.txt",
        "test-requirements.txt",
        "requirements/test.txt",
        "requirements/docs.txt",
        "tests/requirements.txt",
        "requirements_latest.txt",
    ]
    tree = write_tree(tmp_path, dict.fromkeys(names, "six\n"))
    found = {bundle.where: bundle.purpose for bundle in requirement_bundles(tree)}
    assert found == {
        "requirements-dev.txt": RequirementPurpose.DEVELOPMENT,
        "test-requirements.txt": RequirementPurpose.TESTS,
        "requirements/test.txt": RequirementPurpose.TESTS,
        "tests/requirements.txt": RequirementPurpose.TESTS,
    }


def test_included_files_are_read(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "requirements/test.txt": "-r base.txt\npytest==7.0 --hash=sha256:00\n-e .\n--pre\n",
            "requirements/base.txt": "--requirement=more.txt\nsix\n",
            "requirements/more.txt": "attrs # of old\n",
        },
    )
    assert list(requirements_in(tree, "requirements/test.txt")) == ["attrs", "six", "pytest==7.0"]


def test_circular_includes_end(tmp_path):
    tree = write_tree(tmp_path, {"a.txt": "-r b.txt\nsix", "b.txt": "-r a.txt\nattrs"})
    assert set(requirements_in(tree, "a.txt")) == {"six", "attrs"}


def test_an_included_file_outside_the_tree_is_not_read(tmp_path):
    write_tree(tmp_path, {"secret.txt": "secret"})
    tree = write_tree(tmp_path / "tree", {"test.txt": "-r ../secret.txt\n"})
    assert list(requirements_in(tree, "test.txt")) == []


def test_group_of_file_has_its_requirements(tmp_path):
    tree = write_tree(tmp_path, {"test-requirements.txt": "pytest\n"})
    (bundle,) = requirement_bundles(tree)
    assert (bundle.files, bundle.requirements, bundle.known_requirements) == (
        ("test-requirements.txt",),
        (),
        ("pytest",),
    )


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


def test_testenv_gives_one_group(tmp_path):
    tree = write_tree(tmp_path / "tree", {"requirements.txt": "six\n"})
    (bundle,) = tox_bundles(parse_ini(TOX), tree)
    assert bundle.extras == ("test", "more")
    assert bundle.files == ("requirements.txt",)
    assert bundle.requirements == ("pytest",)
    assert bundle.known_requirements == ("six",)


def test_file_without_testenv_gives_no_group(tmp_path):
    assert list(tox_bundles(parse_ini("[flake8]\nx = 1"), tmp_path)) == []


def test_plain_variables_of_tox_are_used():
    assert tox_environment(parse_ini(TOX)) == {"TZ": "UTC", "PYTHONHASHSEED": "0"}


def test_installs_of_nox_sessions_are_read(tmp_path):
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


def test_missing_noxfile_gives_no_group(tmp_path):
    assert list(nox_bundles(None, tmp_path)) == []


NO_SETTINGS, NO_TESTS = PytestSettings(), FoundTests()


def test_all_files_of_a_project_are_read(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ntest = ["a"]',
            "setup.cfg": "[options]\ntests_require = b",
            "setup.py": "setup(tests_require=['c'])",
            "test-requirements.txt": "d",
            "tox.ini": "[testenv]\ndeps = e",
            "noxfile.py": "def tests(session):\n    session.install('f')",
        },
    )
    held = [
        bundle.requirements or bundle.known_requirements
        for bundle in read_declarations(tree).bundles
    ]
    assert held == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]


def test_groups_for_tests_come_first(tmp_path):
    declared = ProjectDeclaration(
        installable=True,
        bundles=(
            RequirementGroup(where="dev", purpose=RequirementPurpose.DEVELOPMENT, extras=("dev",)),
            RequirementGroup(where="test", purpose=RequirementPurpose.TESTS, extras=("test",)),
        ),
    )
    ways = install_strategies(tmp_path, declared, NO_SETTINGS, NO_TESTS)
    assert [way.extras for way in ways] == [("test",), ("dev",), ()]
    assert all(way.project for way in ways)


def test_missing_distributions_are_added_with_reasons(tmp_path):
    found = FoundTests(
        imports=frozenset({"yaml", "attr", "pytest"}),
        arguments=frozenset({"mocker", "own", "tmp_path"}),
        fixtures=frozenset({"own"}),
        marks=frozenset({"asyncio", "parametrize"}),
    )
    settings = PytestSettings(
        where="pytest.ini", names=frozenset({"timeout"}), plugins=("pytest-xyz",)
    )
    declared = ProjectDeclaration(requirements=("attrs",))
    (way,) = install_strategies(tmp_path, declared, settings, found)
    assert way.requirements == (
        "pyyaml",
        "pytest-mock",
        "pytest-asyncio",
        "pytest-timeout",
        "pytest-xyz",
    )
    assert "`pyyaml`: its tests import `yaml`" in way.reasons
    assert "`pytest-timeout`: pytest.ini sets `timeout`" in way.reasons


def test_unknown_module_is_guessed_in_own_strategy(tmp_path):
    found = FoundTests(imports=frozenset({"rarely_seen"}))
    known, guessed = install_strategies(tmp_path, ProjectDeclaration(), NO_SETTINGS, found)
    assert known.requirements == ()
    assert guessed.requirements == ("rarely_seen",)
    assert "guess" in guessed.reasons[0]


def test_requirements_txt_replaces_uninstallable_project(tmp_path):
    tree = write_tree(tmp_path, {"requirements.txt": "six"})
    (way,) = install_strategies(tree, ProjectDeclaration(), NO_SETTINGS, NO_TESTS)
    assert (way.project, way.files) == (False, ("requirements.txt",))
