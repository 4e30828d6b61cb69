from datetime import date

from agentbench.validation.environment.proposals import propose
from tests.validation.environment.trees import write_tree

PROJECT = {
    "pyproject.toml": (
        '[project]\nname = "x"\nclassifiers = ["Programming Language :: Python :: 3.9"]\n'
        '[project.optional-dependencies]\ntest = ["pytest"]\n'
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "--cov=x"\n'
    ),
    "tests/test_a.py": "import yaml\n",
}


def test_named_python_comes_before_default(tmp_path):
    proposals = propose(write_tree(tmp_path, PROJECT))
    images = [proposal.environment.image for proposal in proposals]
    assert images == ["agentbench/python:3.9", "agentbench/python:3.9", None, None]
    assert proposals[0].setup == proposals[2].setup


def test_proposal_gives_a_reason_for_each_part(tmp_path):
    first = propose(write_tree(tmp_path, PROJECT))[0]
    assert first.setup.commands == ("python -m pip install -e '.[test]' pyyaml",)
    assert first.tests.command == "python -m pytest -o addopts="
    assert first.tests.paths == ("tests",)
    assert first.reasons == (
        "Python 3.9: the newest that its classifiers name",
        "the newest libraries",
        "the project itself, editable",
        "extra `test` of pyproject.toml",
        "`pyyaml`: its tests import `yaml`",
        "addopts of pyproject.toml, less some",
        "tests in tests: testpaths of pyproject.toml",
    )


def test_libraries_of_the_day_come_first(tmp_path):
    proposals = propose(write_tree(tmp_path, PROJECT), on=date(2021, 5, 1))
    dated = ["2021-05-02" in " ".join(p.setup.commands) for p in proposals]
    assert dated == [True, True, False, False, True, True, False, False]
    assert "libraries as of 2021-05-01" in proposals[0].reasons


def test_tree_without_declarations_has_a_proposal(tmp_path):
    (only,) = propose(write_tree(tmp_path, {"README": "x"}))
    assert only.setup.commands == ()
    assert only.tests.paths == ()
    assert "no test files found" in only.reasons


def test_escaping_or_missing_test_paths_are_ignored(tmp_path):
    settings = "[pytest]\ntestpaths = ../out /etc gone -p\n"
    tree = write_tree(tmp_path / "tree", {"pytest.ini": settings, "checks/test_a.py": ""})
    write_tree(tmp_path / "out", {"test_b.py": ""})
    assert propose(tree)[0].tests.paths == ("checks/test_a.py",)


def test_variables_of_tox_and_the_releases_version_are_set(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "tox.ini": "[testenv]\nsetenv = TZ = UTC",
            "PKG-INFO": "Version: 2.0",
            "setup.py": "setup(use_scm_version=True)",
        },
    )
    first = propose(tree)[0]
    assert first.environment.env == {"TZ": "UTC", "SETUPTOOLS_SCM_PRETEND_VERSION": "2.0"}
    assert "TZ: setenv of tox.ini" in first.reasons


def test_number_of_proposals_is_limited(tmp_path):
    files = {f"requirements/test-{n}.txt": "six" for n in range(20)}
    modules = "\n".join(f"import unheard_{n}" for n in range(3))
    tree = write_tree(tmp_path, {**files, "test_a.py": modules})
    assert len(propose(tree, on=date(2020, 1, 1))) == 12


def test_requirements_of_other_state_are_installed(tmp_path):
    tree = write_tree(tmp_path / "old", PROJECT)
    other = write_tree(tmp_path / "new", {"tests/test_a.py": "import attr"})
    first = propose(tree, tests_of=other)[0]
    assert first.setup.commands == ("python -m pip install -e '.[test]' attrs pyyaml",)
