from dataclasses import fields
from pathlib import PurePosixPath

import pytest

from agentbench.audit.run_facts import AttemptFacts, open_run, read_attempt
from agentbench.audit.task_facts import read_task_facts
from agentbench.extensions.symbolic.differential.trees import NotComparableError, trees_of
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import make_run
from tests.e2e.small_task import BUGGY, FIXED

OWN = FIXED.replace("sum(prices)", "sum(list(prices))")
LEFT = {"basket.py": OWN, "shop/__init__.py": "", "shop/till.py": "TILL = 1\n", "big.bin": "\0"}


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left")
    make_run(folder, files=LEFT)
    return folder


def facts_of(folder, **changes) -> AttemptFacts:
    mirrors = Mirrors(folder / "mirrors")
    run = open_run(folder / "runs" / "one")
    task = read_task_facts(load_task(folder / "small", mirrors=mirrors), mirrors)
    facts = read_attempt(run, run.latest[0], task)
    values = {one.name: getattr(facts, one.name) for one in fields(AttemptFacts)}
    return AttemptFacts(**{**values, **changes})


def test_the_trees_are_the_base_the_fix_and_what_the_agent_left(left):
    trees = trees_of(facts_of(left))
    path = PurePosixPath("basket.py")
    assert trees.base.content(path) == BUGGY.encode()
    assert trees.reference.content(path) == FIXED.encode()
    assert trees.agents.content(path) == OWN.encode()


def test_new_files_are_there_also_those_without_a_line(left):
    trees = trees_of(facts_of(left))
    assert trees.agents.content(PurePosixPath("shop/__init__.py")) == b""
    assert trees.agents.content(PurePosixPath("shop/till.py")) == b"TILL = 1\n"
    assert PurePosixPath("shop/till.py") in set(trees.agents.paths())


def test_a_file_that_the_patch_does_not_show_is_named(left):
    assert trees_of(facts_of(left)).unread == ("big.bin",)


def test_without_its_task_an_attempt_has_no_trees(left):
    with pytest.raises(NotComparableError, match=r"not where run\.json says"):
        trees_of(facts_of(left, task=None))


def test_with_another_patch_an_attempt_has_no_trees(left):
    with pytest.raises(NotComparableError, match="not the one that was judged"):
        trees_of(facts_of(left, patch_text=b""))


def test_with_a_task_that_changed_since_an_attempt_has_no_trees(left):
    record = facts_of(left).record.replace(task_digest="another")
    with pytest.raises(NotComparableError, match="the task has changed since"):
        trees_of(facts_of(left, record=record))


def test_without_a_reference_fix_an_attempt_has_no_trees(left):
    facts = facts_of(left)
    assert facts.task is not None
    values = {one.name: getattr(facts.task, one.name) for one in fields(type(facts.task))}
    with pytest.raises(NotComparableError, match=r"no solution\.patch"):
        trees_of(facts_of(left, task=type(facts.task)(**{**values, "fixed": {}})))
