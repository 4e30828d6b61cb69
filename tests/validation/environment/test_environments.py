from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.tasks.task_file import PytestTable
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import EnvironmentFinder, RepositoryChange
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, VISIBLE
from tests.fakes.staging import local_provider


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
