import pytest

from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
    distribution_of,
    ini_lines,
    named_requirements,
    purpose_of,
    python_files,
    pythons_of,
    read_project_file,
    strings_in,
    table_in,
    text_in,
)
from tests.validation.environment.trees import write_tree


@pytest.mark.parametrize(
    "name", ["test", "tests", "testing", "Test", "unit-tests", "pytest", "dev-test", "test_extra"]
)
def test_names_for_tests(name):
    assert purpose_of(name) is RequirementPurpose.TESTS


@pytest.mark.parametrize("name", ["dev", "develop", "development", "developer", "dev-extras"])
def test_names_for_development(name):
    assert purpose_of(name) is RequirementPurpose.DEVELOPMENT


@pytest.mark.parametrize("name", ["docs", "contest", "latest", "device", "all", ""])
def test_names_for_neither_purpose(name):
    assert purpose_of(name) is None


def test_only_minor_versions_of_python_3_are_taken_from_classifiers():
    messages = [
        "Programming Language :: Python :: 3.8",
        "Programming Language :: Python :: 3 :: Only",
    ]
    assert pythons_of([*messages, "Programming Language :: Python :: 2.7"]) == ("3.8",)


def test_options_paths_and_addresses_are_no_requirements_by_name():
    messages = ["pytest>=7", "-e .", "./local", "x @ https://example.org/x.tar.gz", "{posargs}"]
    assert named_requirements(messages) == ("pytest>=7",)


def test_a_requirement_has_the_normalised_name_of_its_distribution():
    assert distribution_of("PyYAML[extra]>=5 ; python_version > '3'") == "pyyaml"


def test_merged_declaration_has_both():
    one = ProjectDeclaration(
        requires_python=(">=3.8",),
        bundles=(RequirementGroup(where="a", purpose=RequirementPurpose(1)),),
    )
    both = one.merged_with(ProjectDeclaration(installable=True, requires_python=("<4",)))
    assert both.installable
    assert both.requires_python == (">=3.8", "<4")
    assert both.bundles == one.bundles


def test_missing_table_is_empty():
    assert table_in({"a": {"b": 1}}, "a", "b") == {}
    assert table_in({}, "a") == {}


def test_values_of_other_types_are_ignored():
    assert text_in({"a": 3}, "a") == ""
    assert strings_in(["x", 3, None, "y"]) == ("x", "y")
    assert strings_in({"x": 1}) == ()


def test_a_single_string_is_a_list_of_one():
    assert strings_in("x") == ("x",)


def test_comments_and_empty_lines_are_ignored():
    assert ini_lines("\n# all\npytest  # runs it\n\nfoo#egg=bar\n") == ("pytest", "foo#egg=bar")


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    tree = write_tree(tmp_path, {"a.toml": b"\xef\xbb\xbfx = 1"})
    assert read_project_file(tree, "a.toml") == "x = 1"


def test_other_encodings_are_read_as_latin_1(tmp_path):
    tree = write_tree(tmp_path, {"setup.py": "author = 'Jos\u00e9'".encode("latin-1")})
    assert read_project_file(tree, "setup.py") == "author = 'Jos\u00e9'"


def test_a_link_out_of_the_tree_is_not_followed(tmp_path):
    secret = write_tree(tmp_path / "home", {"secret": "s"})
    tree = write_tree(tmp_path / "tree", {})
    (tree / "setup.cfg").symlink_to(secret / "secret")
    assert read_project_file(tree, "setup.cfg") is None


def test_missing_or_irregular_file_has_no_text(tmp_path):
    tree = write_tree(tmp_path, {"large": b"x" * ((1 << 20) + 1), "folder/x": ""})
    (tree / "loop").symlink_to("loop")
    found = [read_project_file(tree, n) for n in ("absent", "folder", "large", "loop", "a\0b")]
    assert found == [None] * 5


def test_hidden_and_build_folders_are_ignored(tmp_path):
    names = ["a.py", "pkg/b.py", ".venv/c.py", "build/d.py", "node_modules/e.py", "f.txt"]
    tree = write_tree(tmp_path, dict.fromkeys(names, ""))
    (tree / "linked").symlink_to(tree / "pkg")
    assert list(python_files(tree)) == ["a.py", "pkg/b.py"]
