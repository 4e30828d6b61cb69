from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.history.environments import Environments
from agentbench.errors import InputError
from agentbench.tasks.history.commit import find_commit
from agentbench.tasks.history.fix import Fix, read_fix
from agentbench.tasks.history.tree import write_files_of
from agentbench.tasks.task_file import PytestTable


def test_what_is_given_is_not_looked_for(pocket, head, options, tmp_path):
    given = Proposal(tests=PytestTable(command="pytest -q"))
    fix = read_fix(head, find_commit(head, pocket.commits["fix"]))
    assert Environments(options, given).of(fix, before=tmp_path, after=tmp_path) is given


def test_the_fixs_own_tests_show_that_it_is_right_and_that_holds_for_others(trees, options):
    told = []
    environments = Environments(replace(options, say=told.append))
    found = environments.of(trees.fix, before=trees.before, after=trees.after)
    assert "environment: 2 of 2 tests pass with it" in told
    assert found.tests.paths != ("tests/test_hidden.py",)
    tried = len(told)
    assert environments.of(trees.fix, before=trees.before, after=trees.after) is found
    assert len(told) == tried


def test_a_fix_whose_tests_do_not_run_does_not_speak_for_the_others(trees, options):
    environments = Environments(options)
    with pytest.raises(InputError):
        environments.of(trees.fix, before=trees.before, after=trees.before)
    assert environments.of(trees.fix, before=trees.before, after=trees.after)


def test_what_has_not_held_three_times_is_not_tried_again(trees, options):
    told = []
    environments = Environments(replace(options, say=told.append))
    tried = []
    for _ in range(4):  # without the fix its tests fail, whatever is there
        with pytest.raises(InputError):
            environments.of(trees.fix, before=trees.before, after=trees.before)
        tried.append(len(told))
    assert 0 < tried[0] < tried[1] < tried[2] == tried[3]


class Trees(NamedTuple):
    fix: Fix
    before: Path
    after: Path


@pytest.fixture
def trees(pocket, head, tmp_path):
    fix = read_fix(head, find_commit(head, pocket.commits["fix"]))
    write_files_of(head, fix.base, tmp_path / "before")
    write_files_of(head, fix.commit.hash, tmp_path / "after")
    return Trees(fix, tmp_path / "before", tmp_path / "after")
