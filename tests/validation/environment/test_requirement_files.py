from agentbench.tasks.project_declaration import RequirementPurpose
from agentbench.validation.environment.install_strategies import (
    requirement_bundles,
    requirements_in,
)
from tests.validation.environment.trees import write_tree


def test_files_for_tests_and_for_developers_are_told_by_their_names(tmp_path):
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


def test_included_files_count_and_hashes_and_options_do_not(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "requirements/test.txt": "-r base.txt\npytest==7.0 --hash=sha256:00\n-e .\n--pre\n",
            "requirements/base.txt": "--requirement=more.txt\nsix\n",
            "requirements/more.txt": "attrs # of old\n",
        },
    )
    assert list(requirements_in(tree, "requirements/test.txt")) == ["attrs", "six", "pytest==7.0"]


def test_files_that_include_each_other_end(tmp_path):
    tree = write_tree(tmp_path, {"a.txt": "-r b.txt\nsix", "b.txt": "-r a.txt\nattrs"})
    assert set(requirements_in(tree, "a.txt")) == {"six", "attrs"}


def test_an_included_file_outside_the_tree_is_not_read(tmp_path):
    write_tree(tmp_path, {"secret.txt": "secret"})
    tree = write_tree(tmp_path / "tree", {"test.txt": "-r ../secret.txt\n"})
    assert list(requirements_in(tree, "test.txt")) == []


def test_a_files_bundle_installs_the_file_and_knows_what_it_holds(tmp_path):
    tree = write_tree(tmp_path, {"test-requirements.txt": "pytest\n"})
    (bundle,) = requirement_bundles(tree)
    assert (bundle.files, bundle.requirements, bundle.known_requirements) == (
        ("test-requirements.txt",),
        (),
        ("pytest",),
    )
