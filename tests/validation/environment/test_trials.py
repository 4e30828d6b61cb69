from datetime import date
from pathlib import PurePosixPath

import pytest
from msgspec.structs import replace

from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, PytestTable
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import (
    EnvironmentFinder,
    RepositoryChange,
    task_for_trial,
    try_proposals,
)
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, VISIBLE
from tests.fakes.staging import local_provider
from tests.validation.environment.trees import write_tree

GOOD = {"x.py": "y = 1\n", "tests/test_x.py": "import x\n\n\ndef test_y():\n    assert x.y == 1\n"}
HOLDS = Proposal(tests=PytestTable(paths=("tests",)), reasons=("as it is",))
FAILS = Proposal(setup=TaskSetup(commands=("echo cannot >&2; exit 3",)), reasons=("exit 3",))


@pytest.fixture(scope="module")
def provider() -> SandboxProvider:
    return local_provider()


def tried(provider, tree, *proposals, said=None):
    say = said.append if said is not None else lambda _line: None
    return try_proposals(tree, proposals, RunOptions(sandbox=provider, say=say))


def test_the_first_proposal_that_holds_is_chosen_and_what_the_others_ended_in_is_kept(
    provider, tmp_path
):
    said: list[str] = []
    tree = write_tree(tmp_path, GOOD)
    missing = Proposal(environment=EnvironmentTable(image="agentbench/python:3.4"))
    chosen = tried(provider, tree, missing, FAILS, HOLDS, FAILS, said=said)
    assert chosen.proposal is HOLDS
    assert (chosen.passed, chosen.ran) == (1, 1)
    assert [line for line in said if line.startswith("trying")] == [
        f"trying 2 of 4: {'; '.join(FAILS.reasons)}",
        "trying 3 of 4: as it is",
    ]
    assert any(line.startswith("  ") and "cannot" in line for line in said)


def test_where_none_holds_all_endings_are_said(provider, tmp_path):
    tree = write_tree(tmp_path, {**GOOD, "tests/test_x.py": "import nowhere\n"})
    with pytest.raises(InputError) as error:
        tried(provider, tree, FAILS, HOLDS)
    first, second = error.value.faults
    assert "cannot" in first
    assert "(tried: echo cannot >&2; exit 3)" in first
    assert "nowhere" in second


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("def test_a(): assert 0\ndef test_b(): assert 1\n", "1 of 2 tests do not pass"),
        ("import pytest\n@pytest.mark.skip\ndef test_a(): ...\n", "no test passed, of 1"),
        ("", "no test passed, of 0"),
    ],
)
def test_tests_that_mostly_do_not_pass_show_that_it_is_not_right(provider, tmp_path, tests, said):
    tree = write_tree(tmp_path, {"tests/test_x.py": tests})
    with pytest.raises(InputError, match=said):
        tried(provider, tree, HOLDS)


def test_a_few_tests_may_fail(provider, tmp_path):
    passing = "".join(f"def test_{n}(): ...\n" for n in range(9))
    tree = write_tree(tmp_path, {"tests/test_x.py": f"{passing}def test_net(): assert 0\n"})
    chosen = tried(provider, tree, HOLDS)
    assert (chosen.passed, chosen.ran) == (9, 10)


def test_a_trial_asks_for_nothing_and_tells_nothing(tmp_path):
    task = task_for_trial(tmp_path, HOLDS)
    assert task.answer_key.fail_to_pass == ()
    assert task.problem.instruction == ""
    assert task.problem.test_paths == ("tests",)


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


def test_what_is_given_is_not_looked_for(change, options):
    given = Proposal(tests=PytestTable(command="pytest -q"))
    assert EnvironmentFinder(options, given).of(change) is given


def test_the_tests_of_the_change_show_that_it_is_right_and_that_holds_for_others(
    change, unfit, options
):
    told = []
    environments = EnvironmentFinder(options.replace(say=told.append))
    with pytest.raises(InputError):  # one whose tests do not run does not speak for the others
        environments.of(unfit)
    found = environments.of(change)
    assert "environment: 2 of 2 tests pass with it" in told
    assert found.tests.paths != ("tests/test_hidden.py",)
    tried = len(told)
    assert environments.of(replace(change, on=date(2026, 2, 28))) is found
    assert len(told) == tried


def test_what_has_not_held_three_times_is_not_tried_again(unfit, options):
    told = []
    environments = EnvironmentFinder(options.replace(say=told.append))
    tried = []
    for _ in range(4):
        with pytest.raises(InputError):
            environments.of(unfit)
        tried.append(len(told))
    assert 0 < tried[0] < tried[1] < tried[2] == tried[3]
