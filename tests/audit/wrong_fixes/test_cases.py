"""The cases are what they say: the wrong fixes are wrong, and the honest ones are right."""

import pytest

from agentbench.audit.patch import parse_patch
from tests.audit.wrong_fixes.cases import CASES
from tests.audit.wrong_fixes.copies import TASKS, fix, resolved_by, weakened


@pytest.fixture(scope="module")
def resolved(tmp_path_factory):
    """The tasks that each kind of fix resolves, as they are or made weaker."""
    folder = tmp_path_factory.mktemp("cases")
    weak = folder / "weak"
    for case in CASES.values():
        weakened(case, weak)
    full = [TASKS / task for task in CASES]
    weak_ones = sorted(weak.iterdir())
    return {
        "wrong": resolved_by("wrong", full, folder / "wrong"),
        "honest": resolved_by("honest", full, folder / "honest"),
        "wrong, weakened": resolved_by("wrong", weak_ones, folder / "weakened"),
    }


def test_wrong_fixes_pass_weakened_tests_and_not_the_tasks_own(resolved):
    assert resolved["wrong, weakened"] == set(CASES)
    assert resolved["wrong"] == set()


def test_honest_fixes_pass_all_tests(resolved):
    assert resolved["honest"] == set(CASES)


@pytest.mark.parametrize("task", CASES)
def test_no_fix_is_the_reference(task):
    case = CASES[task]
    reference = parse_patch((TASKS / task / "solution.patch").read_bytes())
    for edits in (case.wrong, case.honest):
        assert parse_patch(fix(case, edits).encode()) != reference
