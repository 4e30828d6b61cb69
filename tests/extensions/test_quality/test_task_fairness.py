"""`validate --fairness` on real tasks."""

import json

import pytest

from agentbench.validation.fairness_results import VariantKind
from agentbench.validation.task_validation import read_proof
from tests.e2e.small_task import BUGGY, SmallTask, patch_of

pytestmark = pytest.mark.full

CHECKED = """\
    if not prices:
        raise ValueError("a basket has no prices")
    return sum(prices)
"""
FIXED = BUGGY.replace("    return sum(prices[1:])\n", CHECKED)
HIDDEN = """\
import pytest

import basket


def test_every_price_counts():
    assert basket.total([1, 2, 3]) == 6


def test_one_price_is_the_total():
    assert basket.total([5]) == 5
    with pytest.raises(ValueError, match="a basket has no prices"):
        basket.total([])
"""


@pytest.fixture
def narrow(tmp_path):
    """A task whose tests want a message, of which the instruction says nothing."""
    files = {**SmallTask().files, "tests/test_basket.py": "def test_nothing():\n    pass\n"}
    (tmp_path / "narrow").mkdir()
    folder = SmallTask(hidden=HIDDEN, files=files).write(tmp_path / "narrow")
    (folder / "solution.patch").write_text(patch_of("basket.py", BUGGY, FIXED))
    return folder


@pytest.fixture
def validate(cli, sandbox, tmp_path):
    def validate(path, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1")
        return cli("validate", path, *where, "--quiet", *arguments)

    return validate


def test_rejected_fixes_are_printed_and_kept(validate, narrow):
    result = validate(narrow, "--fairness", "--record")
    assert result.code == 0, result.stderr
    assert "  fairness: 2 of 3 right variants of the fix rejected; " in result.stdout
    assert "  rejected: basket.py:7: other words of a message: a message in" in result.stdout
    assert "by tests/test_hidden.py::test_one_price_is_the_total" in result.stdout
    fairness = read_proof(narrow).fairness
    assert fairness.is_unfair
    assert {one.kind for one in fairness.rejected} == {
        VariantKind.MESSAGE,
        VariantKind.EXCEPTION,
    }


def test_json_has_all_variants(validate, narrow):
    result = validate(narrow, "--fairness", "--json")
    assert result.code == 0, result.stderr
    (row,) = json.loads(result.stdout)
    assert row["fairness"]["unfair"] is True
    variants = row["fairness"]["variants"]
    assert sorted(one["outcome"] for one in variants) == ["accepted", "rejected", "rejected"]
    assert {one["change"]["path"] for one in variants} == {"basket.py"}


def test_a_task_that_is_not_valid_is_not_measured(validate, tasks):
    result = validate(tasks, "--fairness")
    assert result.code == 1, result.stderr
    assert "  fairness: variants not run: the task is not valid\n" in result.stdout
    assert "first: fairness: 0 of 0 right variants of the fix rejected" in result.stderr


@pytest.mark.parametrize("limit", ["soon", "-1m"])
def test_a_wrong_limit_is_one_line(validate, narrow, limit):
    result = validate(narrow, "--fairness", f"--within={limit}")
    assert result.code == 2
    assert "--within" in result.stderr
    assert "write it like 90s" in result.stderr


def test_without_being_asked_for_nothing_is_measured(validate, narrow):
    (row,) = json.loads(validate(narrow, "--json").stdout)
    assert "fairness" not in row
