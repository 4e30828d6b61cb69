import pytest

from agentbench.tasks.project_declaration import RequirementPurpose
from agentbench.tasks.project_files import parse_ini, pip_specifier, read_poetry, read_setup_cfg


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
def test_constraints_in_the_words_of_pip(constraint, specifier):
    assert pip_specifier(constraint) == specifier


def test_groups_and_dev_dependencies_are_bundles():
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


def test_a_table_gives_version_extras_and_markers_and_a_path_is_left_out():
    wanted = {
        "a": {"version": "^1", "extras": ["x", "y"], "markers": "os_name == 'nt'"},
        "b": {"path": "../b"},
        "c": {"version": "1", "optional": True},
        "d": [{"version": "2"}, {"version": "3"}],
    }
    assert read_poetry({"dependencies": wanted}).requirements == (
        "a[x,y]>=1,<2 ; os_name == 'nt'",
        "d==2",
    )


def test_a_project_without_poetry_says_nothing():
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


def test_a_file_of_tool_settings_installs_nothing():
    found = read_setup_cfg(parse_ini("[flake8]\nmax-line-length = 100%\n"))
    assert not found.installable
    assert found.bundles == ()


def test_what_is_no_ini_file_has_no_sections():
    assert parse_ini("no section = here").sections() == []
    assert parse_ini(None).sections() == []
