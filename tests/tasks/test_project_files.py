import pytest

from agentbench.tasks.project_declaration import RequirementPurpose
from agentbench.tasks.project_files import pip_specifier, read_poetry


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
