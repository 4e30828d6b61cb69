from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from agentbench.extensions.symbolic.differential.trees import NotComparableError, trees_of
from tests.audit.conftest import make_run
from tests.e2e.small_task import BUGGY, FIXED
from tests.extensions.symbolic.differential.test_differential_audit import facts_of

OWN = FIXED.replace("sum(prices)", "sum(list(prices))")
LEFT = {"basket.py": OWN, "shop/__init__.py": "", "shop/till.py": "TILL = 1\n", "big.bin": "\0"}


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left")
    make_run(folder, files=LEFT)
    return folder


def test_trees_are_base_reference_and_attempt(left):
    trees = trees_of(facts_of(left))
    path = PurePosixPath("basket.py")
    assert trees.base.content(path) == BUGGY.encode()
    assert trees.reference.content(path) == FIXED.encode()
    assert trees.agents.content(path) == OWN.encode()


def test_trees_hold_new_and_empty_files(left):
    trees = trees_of(facts_of(left))
    assert trees.agents.content(PurePosixPath("shop/__init__.py")) == b""
    assert trees.agents.content(PurePosixPath("shop/till.py")) == b"TILL = 1\n"
    assert PurePosixPath("shop/till.py") in set(trees.agents.paths())


def test_file_that_the_patch_omits_is_named(left):
    assert trees_of(facts_of(left)).unread == ("big.bin",)


def test_attempt_without_its_task_has_no_trees(left):
    with pytest.raises(NotComparableError, match=r"not where run\.json says"):
        trees_of(facts_of(left, task=None))


def test_attempt_with_another_patch_has_no_trees(left):
    with pytest.raises(NotComparableError, match="not the one that was judged"):
        trees_of(facts_of(left, patch_text=b""))


def test_attempt_of_a_changed_task_has_no_trees(left):
    record = facts_of(left).record.replace(task_digest="another")
    with pytest.raises(NotComparableError, match="the task has changed since"):
        trees_of(facts_of(left, record=record))


def test_attempt_without_reference_fix_has_no_trees(left):
    facts = facts_of(left)
    assert facts.task is not None
    with pytest.raises(NotComparableError, match=r"no solution\.patch"):
        trees_of(facts_of(left, task=replace(facts.task, fixed={})))
