import tomllib

import pytest

from agentbench.tasks.loading import load_task
from agentbench.validation.task_validation import quarantine_flaky_tests
from tests.e2e.small_task import LISTED, SmallTask
from tests.fakes.staging import mirrors

KEPT = "tests/test_basket.py::test_the_cheapest_is_found"


@pytest.fixture
def apart(tmp_path):
    def apart(rates, **changes):
        folder = SmallTask(**changes).write(tmp_path)
        said = quarantine_flaky_tests(folder, load_task(folder, mirrors=mirrors()), rates)
        load_task(folder, mirrors=mirrors())
        return said, tomllib.loads((folder / "task.toml").read_text())["tests"]

    return apart


def test_flaky_tests_leave_the_lists_that_decide(apart):
    rates = {LISTED[0]: 1 / 3, KEPT: 0.5}
    said, tests = apart(rates, tests=f'pass_to_pass = ["{KEPT}"]')
    assert said is None
    assert tests["fail_to_pass"] == [LISTED[1]]
    assert tests["pass_to_pass"] == []
    assert tests["quarantined"] == [{"id": LISTED[0], "rate": 0.333}, {"id": KEPT, "rate": 0.5}]


def test_what_passed_before_stays_what_decides(apart):
    said, tests = apart({KEPT: 0.5})
    assert said is None
    assert tests["pass_to_pass"] == "baseline"
    assert tests["quarantined"] == [{"id": KEPT, "rate": 0.5}]


@pytest.mark.parametrize(
    ("rates", "changes", "why"),
    [
        (dict.fromkeys(LISTED, 0.5), {}, "every test to fix is flaky"),
        ({KEPT: 0.5}, {"fail_to_pass": ()}, "no test is listed"),
    ],
)
def test_what_cannot_be_set_apart_is_told_and_nothing_is_written(apart, rates, changes, why):
    said, tests = apart(rates, **changes)
    assert why in said
    assert "quarantined" not in tests
