import tomllib

from agentbench.tasks.project_files import parse_toml, read_pyproject


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


def test_groups_are_written_out_with_those_that_they_include():
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


def test_a_group_that_includes_itself_gives_what_it_names():
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


def test_a_file_without_a_build_says_nothing_of_installing():
    assert not declared("[tool.black]\nline-length = 88").installable


def test_values_of_wrong_types_count_as_not_said():
    found = declared(
        'project = "x"\n[tool]\npoetry = 3\n[dependency-groups]\ntest = "pytest"\ndev = [3]'
    )
    assert not found.installable
    assert all(bundle.requirements for bundle in found.bundles)


def test_what_is_no_toml_is_an_empty_table():
    assert parse_toml("[[[") == {}
    assert parse_toml(None) == {}
    assert parse_toml("a = " + "[" * 100_000) == {}
