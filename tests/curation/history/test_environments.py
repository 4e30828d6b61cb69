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


def test_what_does_not_hold_is_not_tried_again(trees, options):
    told = []
    environments = Environments(replace(options, say=told.append))
    asked = {"before": trees.before, "after": trees.before}  # its tests fail, whatever is there
    with pytest.raises(InputError) as first:
        environments.of(trees.fix, **asked)
    tried = len(told)
    assert tried > 0
    with pytest.raises(InputError) as second:
        environments.of(trees.fix, **asked)
    assert second.value.faults == first.value.faults
    assert len(told) == tried


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
