from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, TestsTable
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import (
    EnvironmentFinder,
    RepositoryChange,
    try_proposals,
)
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, VISIBLE
from tests.fakes.staging import local_provider
from tests.validation.environment.trees import write_tree

pytestmark = pytest.mark.full

GOOD = {"x.py": "y = 1\n", "tests/test_x.py": "import x\n\n\ndef test_y():\n    assert x.y == 1\n"}
HOLDS = Proposal(tests=TestsTable(paths=("tests",)), reasons=("as it is",))
FAILS = Proposal(setup=TaskSetup(commands=("echo cannot >&2; exit 3",)), reasons=("exit 3",))


@pytest.fixture(scope="module")
def provider() -> SandboxProvider:
    return local_provider()


def tried(provider, tree, *proposals, messages=None):
    say = messages.append if messages is not None else lambda _line: None
    return try_proposals(tree, proposals, RunOptions(sandbox=provider, say=say))


def test_first_working_proposal_is_used(provider, tmp_path):
    messages: list[str] = []
    tree = write_tree(tmp_path, GOOD)
    missing = Proposal(environment=EnvironmentTable(image="agentbench/python:3.4"))
    selected = tried(provider, tree, missing, FAILS, HOLDS, FAILS, messages=messages)
    assert selected.proposal is HOLDS
    assert (selected.passed, selected.ran) == (1, 1)
    assert [line for line in messages if line.startswith("trying")] == [
        f"trying 2 of 4: {'; '.join(FAILS.reasons)}",
        "trying 3 of 4: as it is",
    ]
    assert any(line.startswith("  ") and "cannot" in line for line in messages)


def test_failures_of_all_proposals_are_reported(provider, tmp_path):
    tree = write_tree(tmp_path, {**GOOD, "tests/test_x.py": "import nowhere\n"})
    with pytest.raises(InputError) as error:
        tried(provider, tree, FAILS, HOLDS)
    first, second = error.value.faults
    assert "cannot" in first
    assert "(tried: echo cannot >&2; exit 3)" in first
    assert "nowhere" in second


@pytest.mark.parametrize(
    ("tests", "messages"),
    [
        ("def test_a(): assert 0\ndef test_b(): assert 1\n", "1 of 2 tests do not pass"),
        ("import pytest\n@pytest.mark.skip\ndef test_a(): ...\n", "no test passed, of 1"),
        ("", "no test passed, of 0"),
    ],
)
def test_environment_is_rejected_if_most_tests_fail(provider, tmp_path, tests, messages):
    tree = write_tree(tmp_path, {"tests/test_x.py": tests})
    with pytest.raises(InputError, match=messages):
        tried(provider, tree, HOLDS)


def test_a_few_tests_may_fail(provider, tmp_path):
    passing = "".join(f"def test_{n}(): ...\n" for n in range(9))
    tree = write_tree(tmp_path, {"tests/test_x.py": f"{passing}def test_net(): assert 0\n"})
    selected = tried(provider, tree, HOLDS)
    assert (selected.passed, selected.ran) == (9, 10)


@pytest.fixture
def change(tmp_path):
    for name, code in (("before", BUGGY), ("after", FIXED)):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "basket.py").write_text(code)
    (tmp_path / "after/tests/test_hidden.py").write_text(HIDDEN)
    (tmp_path / "before/tests/test_basket.py").write_text(VISIBLE)
    tests = (PurePosixPath("tests/test_hidden.py"),)
    return RepositoryChange(
        before=tmp_path / "before", after=tmp_path / "after", tests=tests, on=date(2026, 2, 3)
    )


@pytest.fixture
def options(tmp_path):
    return RunOptions(sandbox=local_provider().name, runs_dir=tmp_path / "runs")


@pytest.fixture
def unfit(change):
    """Its tests are not even there, whatever the environment."""
    return replace(change, after=change.before)


def test_given_environment_is_used(change, options):
    given = Proposal(tests=TestsTable(command="pytest -q"))
    assert EnvironmentFinder(options, given).of(change) is given


def test_found_environment_is_shared(change, unfit, options):
    messages = []
    environments = EnvironmentFinder(options.replace(say=messages.append))
    with pytest.raises(InputError):  # one whose tests do not run does not speak for the others
        environments.of(unfit)
    found = environments.of(change)
    assert "environment: 2 of 2 tests pass with it" in messages
    assert found.tests.paths != ("tests/test_hidden.py",)
    tried = len(messages)
    assert environments.of(replace(change, on=date(2026, 2, 28))) is found
    assert len(messages) == tried


def test_environment_is_not_tried_after_three_failures(unfit, options):
    messages = []
    environments = EnvironmentFinder(options.replace(say=messages.append))
    tried = []
    for _ in range(4):
        with pytest.raises(InputError):
            environments.of(unfit)
        tried.append(len(messages))
    assert 0 < tried[0] < tried[1] < tried[2] == tried[3]
