from datetime import date

from agentbench.validation.environment.proposals import Proposal, propose
from tests.validation.environment.trees import write_tree


def test_a_proposal_of_nothing_is_the_default_of_every_table():
    proposal = Proposal()
    assert proposal.setup.commands == ()
    assert proposal.tests.command == "python -m pytest"
    assert proposal.environment.image is None


PROJECT = {
    "pyproject.toml": (
        '[project]\nname = "x"\nclassifiers = ["Programming Language :: Python :: 3.9"]\n'
        '[project.optional-dependencies]\ntest = ["pytest"]\n'
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "--cov=x"\n'
    ),
    "tests/test_a.py": "import yaml\n",
}


def test_the_python_that_is_named_comes_before_the_default_one(tmp_path):
    proposals = propose(write_tree(tmp_path, PROJECT))
    images = [proposal.environment.image for proposal in proposals]
    assert images == ["agentbench/python:3.9", "agentbench/python:3.9", None, None]
    assert proposals[0].setup == proposals[2].setup


def test_every_piece_bears_where_it_was_read(tmp_path):
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


def test_libraries_of_the_day_come_before_those_of_today(tmp_path):
    proposals = propose(write_tree(tmp_path, PROJECT), on=date(2021, 5, 1))
    dated = ["2021-05-02" in " ".join(p.setup.commands) for p in proposals]
    assert dated == [True, True, False, False, True, True, False, False]
    assert "libraries as of 2021-05-01" in proposals[0].reasons


def test_a_tree_that_says_nothing_has_a_proposal_all_the_same(tmp_path):
    (only,) = propose(write_tree(tmp_path, {"README": "x"}))
    assert only.setup.commands == ()
    assert only.tests.paths == ()
    assert "no test files found" in only.reasons


def test_test_paths_that_lead_out_or_are_not_there_are_not_taken(tmp_path):
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


def test_there_is_a_bound_to_how_many_are_proposed(tmp_path):
    files = {f"requirements/test-{n}.txt": "six" for n in range(20)}
    modules = "\n".join(f"import unheard_{n}" for n in range(3))
    tree = write_tree(tmp_path, {**files, "test_a.py": modules})
    assert len(propose(tree, on=date(2020, 1, 1))) == 12


def test_what_another_states_tests_use_is_installed_too(tmp_path):
    tree = write_tree(tmp_path / "old", PROJECT)
    other = write_tree(tmp_path / "new", {"tests/test_a.py": "import attr"})
    first = propose(tree, tests_of=other)[0]
    assert first.setup.commands == ("python -m pip install -e '.[test]' attrs pyyaml",)
