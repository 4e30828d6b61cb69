import tomllib

import pytest

from agentbench.tasks.project_declaration import RequirementPurpose
from agentbench.tasks.project_files import (
    parse_ini,
    parse_python,
    parse_toml,
    pip_specifier,
    read_poetry,
    read_pyproject,
    read_setup_cfg,
    read_setup_py,
)


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.4", "~=1.4"),
        ("*", ""),
        ("1.2.3", "==1.2.3"),
        (">=1.2, <2", ">=1.2,<2"),
        ("^2.7 || ^3.5", ">=2.7,<3"),
        ("^not-a-version", ""),
    ],
)
def test_poetry_constraints_become_pip_specifiers(constraint, specifier):
    assert pip_specifier(constraint) == specifier


def test_poetry_groups_are_read():
    declared = read_poetry(
        {
            "name": "x",
            "dependencies": {"python": "^3.8", "attrs": "^21"},
            "dev-dependencies": {"black": "*"},
            "group": {"test": {"dependencies": {"pytest": "^7", "python": "^3.9"}}},
            "extras": {"tests": ["mock"], "docs": ["sphinx"]},
        }
    )
    assert declared.installable
    assert declared.requires_python == (">=3.8,<4",)
    assert declared.requirements == ("attrs>=21,<22",)
    assert [(b.purpose, b.extras, b.requirements) for b in declared.bundles] == [
        (RequirementPurpose.TESTS, ("tests",), ()),
        (RequirementPurpose.TESTS, (), ("pytest>=7,<8",)),
        (RequirementPurpose.DEVELOPMENT, (), ("black",)),
    ]


def test_poetry_table_gives_version_extras_and_markers():
    requested = {
        "a": {"version": "^1", "extras": ["x", "y"], "markers": "os_name == 'nt'"},
        "b": {"path": "../b"},
        "c": {"version": "1", "optional": True},
        "d": [{"version": "2"}, {"version": "3"}],
    }
    assert read_poetry({"dependencies": requested}).requirements == (
        "a[x,y]>=1,<2 ; os_name == 'nt'",
        "d==2",
    )


def test_project_without_poetry_declares_nothing():
    assert not read_poetry({}).installable


TEXT = """\
[metadata]
name = x
classifiers =
    Programming Language :: Python :: 3.8
    Programming Language :: Python :: 3.10
[options]
python_requires = >=3.7
install_requires =
    six  # for both
tests_require = nose
[options.extras_require]
testing =
    pytest>=3.5
    pytest-cov; python_version > "3"
docs = sphinx
"""


def test_metadata_and_options_are_read():
    found = read_setup_cfg(parse_ini(TEXT))
    assert found.installable
    assert found.requires_python == (">=3.7",)
    assert found.pythons == ("3.8", "3.10")
    assert found.requirements == ("six",)


def test_an_extra_for_tests_and_tests_require_are_bundles():
    extra, required = read_setup_cfg(parse_ini(TEXT)).bundles
    assert extra.extras == ("testing",)
    assert extra.known_requirements == ("pytest>=3.5", 'pytest-cov; python_version > "3"')
    assert required.requirements == ("nose",)
    assert required.extras == ()


def test_setup_cfg_of_tools_installs_nothing():
    found = read_setup_cfg(parse_ini("[flake8]\nmax-line-length = 100%\n"))
    assert not found.installable
    assert found.bundles == ()


def test_malformed_ini_file_has_no_sections():
    assert parse_ini("no section = here").sections() == []
    assert parse_ini(None).sections() == []


def declared(text: str):
    return read_pyproject(tomllib.loads(text))


def test_the_projects_own_table_is_read():
    found = declared(
        """
        [build-system]
        requires = ["hatchling", "hatch-vcs"]
        [project]
        name = "x"
        requires-python = ">=3.9"
        classifiers = ["Programming Language :: Python :: 3.12"]
        dependencies = ["attrs>=20"]
        [project.optional-dependencies]
        test = ["pytest", "hypothesis>=6"]
        docs = ["sphinx"]
        """
    )
    assert found.installable
    assert found.requires_python == (">=3.9",)
    assert found.pythons == ("3.12",)
    assert found.requirements == ("attrs>=20",)
    assert found.build_requirements == ("hatchling", "hatch-vcs")
    (bundle,) = found.bundles
    assert bundle.where == "extra `test` of pyproject.toml"
    assert bundle.extras == ("test",)
    assert bundle.known_requirements == ("pytest", "hypothesis>=6")


def test_included_groups_are_expanded():
    found = declared(
        """
        [dependency-groups]
        base = ["attrs"]
        tests = ["pytest", {include-group = "base"}]
        lint = ["ruff"]
        """
    )
    (bundle,) = found.bundles
    assert bundle.requirements == ("pytest", "attrs")
    assert bundle.extras == ()


def test_circular_group_gives_its_own_requirements():
    found = declared('[dependency-groups]\ntest = ["pytest", {include-group = "test"}]')
    assert found.bundles[0].requirements == ("pytest",)


def test_the_tables_of_pdm_hatch_uv_and_poetry_are_read():
    found = declared(
        """
        [tool.pdm.dev-dependencies]
        test = ["a"]
        [tool.hatch.envs.test]
        dependencies = ["b"]
        extra-dependencies = ["c"]
        [tool.uv]
        dev-dependencies = ["d"]
        [tool.poetry.group.test.dependencies]
        e = "*"
        """
    )
    assert [bundle.requirements for bundle in found.bundles] == [("a",), ("b", "c"), ("d",), ("e",)]


def test_file_without_build_is_not_installable():
    assert not declared("[tool.black]\nline-length = 88").installable


def test_values_of_wrong_types_are_missing():
    found = declared(
        'project = "x"\n[tool]\npoetry = 3\n[dependency-groups]\ntest = "pytest"\ndev = [3]'
    )
    assert not found.installable
    assert all(bundle.requirements for bundle in found.bundles)


def test_malformed_toml_is_an_empty_table():
    assert parse_toml("[[[") == {}
    assert parse_toml(None) == {}
    assert parse_toml("a = " + "[" * 100_000) == {}


def test_literals_of_the_call_are_read():
    found = read_setup_py(
        """
from setuptools import setup
setup(
    name="x",
    python_requires=">=3.6",
    classifiers=["Programming Language :: Python :: 3.7"],
    install_requires=["six"],
    extras_require={"test": ["pytest"], "docs": ["sphinx"]},
    tests_require=["mock"],
)
"""
    )
    assert found.installable
    assert found.requires_python == (">=3.6",)
    assert found.pythons == ("3.7",)
    assert found.requirements == ("six",)
    assert [(b.extras, b.known_requirements, b.requirements) for b in found.bundles] == [
        (("test",), ("pytest",), ()),
        ((), (), ("mock",)),
    ]


def test_assigned_names_and_sums_are_followed():
    found = read_setup_py(
        """
import setuptools
base = ["pytest"]
tests = base + ["mock", *base]
settings = dict(tests_require=tests)
settings = {"tests_require": tests, "extras_require": {"dev": tests}}
setuptools.setup(**settings)
"""
    )
    assert [b.known_requirements or b.requirements for b in found.bundles] == [
        ("pytest", "mock", "pytest"),
        ("pytest", "mock", "pytest"),
    ]


def test_computed_values_are_missing():
    found = read_setup_py("setup(python_requires=f(), install_requires=open('r').readlines())")
    assert found.installable
    assert found.requires_python == ()
    assert found.requirements == ()


def test_setup_py_is_not_run(tmp_path):
    witness = tmp_path / "ran"
    read_setup_py(f"open({str(witness)!r}, 'w')\nsetup(name=open({str(witness)!r}, 'w'))")
    assert not witness.exists()


def test_circular_name_ends():
    assert read_setup_py("x = x\ny = [y]\nsetup(install_requires=x, tests_require=y)").bundles == ()


def test_unparsable_module_is_empty():
    assert parse_python("print 'two'").body == []
    assert parse_python("\0").body == []
    assert read_setup_py("print 'two'").installable
    assert not read_setup_py(None).installable
