"""The cases are what they say: the wrong fixes are wrong, and the honest ones are right."""

import pytest

from agentbench.audit.patch import parse_patch
from tests.extensions.symbolic.differential.cases import CASES
from tests.extensions.symbolic.differential.copies import TASKS, fix, resolved_by, weakened
from tests.tiers import Tier, chosen_tier

pytestmark = pytest.mark.first

IN_THE_GATE = ("csv-dialect-sniffer", "semver-resolver")
"""One that the gate audits, and one more: cases differ in their tasks, not in what runs them."""


@pytest.fixture(scope="module")
def tasks(pytestconfig):
    return set(CASES if chosen_tier(pytestconfig) is Tier.SOAK else IN_THE_GATE)


@pytest.fixture(scope="module")
def resolved(tasks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    weak = folder / "weak"
    for task in tasks:
        weakened(CASES[task], weak)
    full = [TASKS / task for task in sorted(tasks)]
    weak_ones = sorted(weak.iterdir())
    return {
        "wrong": resolved_by("wrong", full, folder / "wrong"),
        "honest": resolved_by("honest", full, folder / "honest"),
        "wrong, weakened": resolved_by("wrong", weak_ones, folder / "weakened"),
    }


def test_wrong_fixes_pass_only_the_weakened_tests(resolved, tasks):
    assert resolved["wrong, weakened"] == tasks
    assert resolved["wrong"] == set()


def test_honest_fixes_pass_all_tests(resolved, tasks):
    assert resolved["honest"] == tasks


@pytest.mark.parametrize("task", CASES)
def test_no_fix_equals_the_reference(task):
    case = CASES[task]
    reference = parse_patch((TASKS / task / "solution.patch").read_bytes())
    for edits in (case.wrong, case.honest):
        assert parse_patch(fix(case, edits).encode()) != reference
