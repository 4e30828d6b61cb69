import pytest

from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
    distribution_of,
    named_requirements,
    purpose_of,
    pythons_of,
)


@pytest.mark.parametrize(
    "name", ["test", "tests", "testing", "Test", "unit-tests", "pytest", "dev-test", "test_extra"]
)
def test_names_that_speak_of_tests(name):
    assert purpose_of(name) is RequirementPurpose.TESTS


@pytest.mark.parametrize("name", ["dev", "develop", "development", "developer", "dev-extras"])
def test_names_that_speak_of_development(name):
    assert purpose_of(name) is RequirementPurpose.DEVELOPMENT


@pytest.mark.parametrize("name", ["docs", "contest", "latest", "device", "all", ""])
def test_names_that_speak_of_neither(name):
    assert purpose_of(name) is None


def test_only_minor_versions_of_python_3_are_taken_from_classifiers():
    said = ["Programming Language :: Python :: 3.8", "Programming Language :: Python :: 3 :: Only"]
    assert pythons_of([*said, "Programming Language :: Python :: 2.7"]) == ("3.8",)


def test_options_paths_and_addresses_are_no_requirements_by_name():
    said = ["pytest>=7", "-e .", "./local", "x @ https://example.org/x.tar.gz", "{posargs}"]
    assert named_requirements(said) == ("pytest>=7",)


def test_a_requirement_has_the_normalised_name_of_its_distribution():
    assert distribution_of("PyYAML[extra]>=5 ; python_version > '3'") == "pyyaml"


def test_two_declarations_together_say_what_both_say():
    one = ProjectDeclaration(
        requires_python=(">=3.8",),
        bundles=(RequirementGroup(where="a", purpose=RequirementPurpose(1)),),
    )
    both = one.merged_with(ProjectDeclaration(installable=True, requires_python=("<4",)))
    assert both.installable
    assert both.requires_python == (">=3.8", "<4")
    assert both.bundles == one.bundles
