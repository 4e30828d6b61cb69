"""What a final test's report says, case by case."""

import pytest

from agentbench.scoring import FailureReason, Fault
from agentbench.scoring.classification import error_line, last_line, report_failure
from agentbench.scoring.evidence import CollectionFact
from tests.scoring.strategies import A, B, case, command, report

ONE_EACH = (case(A, "failed"), case(B))

OUTCOMES = [
    (1, "failed", "TESTS_FAILED", "1 of 2 tests failed"),
    (5, "no_tests", "NO_TESTS_COLLECTED", "no tests were collected"),
    (2, "interrupted", "INTERRUPTED", "the test session was interrupted from within"),
    (3, "pytest_internal", "INTERNAL_ERROR", "pytest internal: exit code 3 (INTERNALERROR> oh)"),
    (4, "usage", "INTERNAL_ERROR", "usage: exit code 4 (INTERNALERROR> oh)"),
    (1, "spawn", "INTERNAL_ERROR", "spawn: exit code 1 (INTERNALERROR> oh)"),
    (1, "timeout", "TIMEOUT", "timeout: exit code 1 (INTERNALERROR> oh)"),
    (139, "crash", "UNKNOWN", "crash: exit code 139 (INTERNALERROR> oh)"),
    (None, "crash", "UNKNOWN", "crash: exit code None (INTERNALERROR> oh)"),
    (0, "crash", "UNKNOWN", "crash: exit code 0 (INTERNALERROR> oh)"),
    (137, "crash", "TIMEOUT", "killed by SIGKILL, cause unknown"),
    (0, "unverified", "TESTS_FAILED", "1 of 2 tests failed"),
]


@pytest.mark.parametrize(("exit_code", "outcome", "code", "detail"), OUTCOMES)
def test_each_outcome_has_its_reason_and_is_the_agents(exit_code, outcome, code, detail):
    said = command(exit_code, stderr="INTERNALERROR> Traceback\nINTERNALERROR> oh\n")
    seen = report(*ONE_EACH, outcome=outcome, complete=outcome != "crash")
    failure = report_failure(said, seen)
    assert (failure.reason, failure.detail) == (FailureReason(code), detail)
    assert failure.fault is Fault.AGENT
    assert failure.stage == "final_test"


def test_a_content_pytest_has_no_failure():
    assert report_failure(command(0), report(case(A))) is None


@pytest.mark.parametrize("exit_code", [0, 1, 2, 4, 5])
@pytest.mark.parametrize(
    "outcome", ["collection_error", "passed", "failed", "interrupted", "usage", "no_tests"]
)
def test_a_failed_collector_is_an_internal_error_at_any_exit_code(exit_code, outcome):
    seen = report(case(A), outcome=outcome, collection_errors=("tests/test_x.py", "tests/y.py"))
    failure = report_failure(command(exit_code), seen)
    assert failure.reason is FailureReason.INTERNAL_ERROR
    assert failure.detail == (
        "Tests could not be collected: an error in tests/test_x.py (and 1 more)"
    )


def test_a_failed_collector_is_told_with_the_line_that_is_to_blame():
    fact = CollectionFact(
        file="tests/test_x.py", error="SyntaxError", path="model.py", line=42, message="bad input"
    )
    seen = report(outcome="collection_error", collection_errors=("tests/test_x.py",))
    failure = report_failure(command(2), seen.replace(collection_facts=(fact,)))
    assert (failure.reason, failure.fault) == (FailureReason.INTERNAL_ERROR, Fault.AGENT)
    assert failure.detail == (
        "Tests could not be collected: SyntaxError in model.py, line 42: bad input"
    )


def test_a_collector_without_a_name_is_still_one():
    failure = report_failure(command(2), report(outcome="collection_error"))
    assert failure.detail == "Tests could not be collected: an error in an unnamed file"


@pytest.mark.parametrize(("outcome", "code"), [("timeout", "TIMEOUT"), ("crash", "UNKNOWN")])
def test_a_run_that_was_cut_short_is_not_put_down_to_a_collector(outcome, code):
    seen = report(outcome=outcome, collection_errors=("tests/test_x.py",), complete=False)
    assert report_failure(command(139), seen).reason is FailureReason(code)


@pytest.mark.parametrize("code", [9, 42, 139])
def test_crash_after_whole_report_leaves_failed_tests_as_reason(code):
    failure = report_failure(command(code), report(*ONE_EACH, outcome="crash"))
    assert (failure.reason, failure.detail) == (FailureReason.TESTS_FAILED, "1 of 2 tests failed")


@pytest.mark.parametrize("outcome", ["passed", "unverified"])
def test_exit_0_with_nothing_collected_is_no_tests(outcome):
    failure = report_failure(command(0), report(outcome=outcome))
    assert failure.reason is FailureReason.NO_TESTS_COLLECTED


@pytest.mark.parametrize("outcome", ["passed", "unverified"])
def test_exit_0_with_half_a_report_is_an_internal_error(outcome):
    failure = report_failure(command(0), report(case(A), outcome=outcome, complete=False))
    assert failure.reason is FailureReason.INTERNAL_ERROR
    assert failure.detail == "exit code 0 without a whole report behind it"


def test_half_a_report_does_not_count_its_failing_tests():
    failure = report_failure(command(1), report(*ONE_EACH, outcome="unverified", complete=False))
    assert failure.reason is FailureReason.INTERNAL_ERROR


@pytest.mark.parametrize("code", [0, 1, 3])
def test_exit_code_alone_is_no_failure_of_whole_report(code):
    assert report_failure(command(code), report(case(A), outcome="unverified")) is None


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        (
            "",
            "ERROR: usage: __main__.py [options]\n__main__.py: error: unrecognized arguments: --x\n"
            "  inifile: /w/pytest.ini\n  rootdir: /w\n",
            " (__main__.py: error: unrecognized arguments: --x)",
        ),
        ("", "ERROR: /w/p.ini:3: duplicate name\n\n", " (ERROR: /w/p.ini:3: duplicate name)"),
        ("ERROR: not found: t.py::x\n= 1 error =\n", "", " (ERROR: not found: t.py::x)"),
        ("INTERNALERROR> a\nINTERNALERROR> E: b\n= no tests =\n", "", " (INTERNALERROR> E: b)"),
        ("one\ntwo\n", "", " (two)"),
    ],
)
def test_error_line_is_where_pytest_says_why_it_ended(stdout, stderr, expected):
    assert error_line(command(4, stdout=stdout, stderr=stderr)) == expected


@pytest.mark.parametrize(
    ("stderr", "stdout", "expected"),
    [
        ("", "", ""),
        (" \n", "one\n two \n\n", " (two)"),
        ("oops\n", "fine\n", " (oops)"),
        ("x" * 500, "", f" ({'x' * 200})"),
    ],
)
def test_the_last_line_is_what_was_said_last_and_stderr_goes_first(stderr, stdout, expected):
    assert last_line(command(1, stderr=stderr, stdout=stdout)) == expected
