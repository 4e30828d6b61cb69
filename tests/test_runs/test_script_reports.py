import json

import pytest

from agentbench.scoring.evidence import CaseOutcome, ScriptTest
from agentbench.test_runs.script_reports import CTRF, JUNIT, read_script_tests

JUNIT_REPORT = b"""<testsuite name="s"><testcase name="adds" classname="SumTest"/>
<testcase name="fails" classname="SumTest"><failure message="1 != 2"/></testcase></testsuite>"""


def ctrf(*tests):
    return {CTRF: json.dumps({"results": {"tests": tests}}).encode()}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (
            {"name": "test_a.py::test_b", "status": "passed"},
            ScriptTest(node_id="test_a.py::test_b", outcome=CaseOutcome.PASSED),
        ),
        (
            {"name": "adds", "suite": ["cart", "sum"], "filePath": "a.js", "status": "failed"},
            ScriptTest(node_id="a.js::cart > sum > adds", outcome=CaseOutcome.FAILED),
        ),
        (
            {"name": "adds", "suite": "cart", "status": "pending"},
            ScriptTest(node_id="cart > adds", outcome=CaseOutcome.SKIPPED),
        ),
        (
            {"name": "adds", "status": "failed", "message": "1 != 2"},
            ScriptTest(node_id="adds", outcome=CaseOutcome.FAILED, message="1 != 2"),
        ),
        (
            {"name": "adds", "status": ["x"], "suite": 7, "filePath": {}},
            ScriptTest(node_id="adds", outcome=CaseOutcome.UNFINISHED),
        ),
    ],
)
def test_a_test_of_ctrf_is_read(test, expected):
    assert read_script_tests(ctrf(test)) == (expected,)


def test_a_test_that_failed_once_has_not_passed():
    passed, failed = ({"name": "a", "status": status} for status in ("passed", "failed"))
    for order in ((passed, failed), (failed, passed)):
        assert [each.outcome for each in read_script_tests(ctrf(*order))] == [CaseOutcome.FAILED]


def test_tests_of_junit_are_read_if_ctrf_has_none():
    reports = {**ctrf(), JUNIT: JUNIT_REPORT}
    assert [(each.outcome, each.message) for each in read_script_tests(reports)] == [
        (CaseOutcome.PASSED, ""),
        (CaseOutcome.FAILED, "1 != 2"),
    ]


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"{", b"\xff", b'{"results": 7}', b'{"results": {"tests": [7, {"name": 7}]}}'],
)
def test_a_damaged_report_has_no_tests(content):
    assert read_script_tests({CTRF: content, JUNIT: content}) == ()


def test_only_so_many_tests_are_kept():
    many = [{"name": f"t{number}", "status": "passed"} for number in range(10_005)]
    assert len(read_script_tests(ctrf(*many))) == 10_000
