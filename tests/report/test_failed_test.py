import pytest

from agentbench.report.attempt_files import ReportedCase, StoredReport
from agentbench.report.failed_test import describe_test, failing_tests
from agentbench.scoring.verdict import CaseChange
from tests.runs.records import failed

TEST = "tests/test_it.py::test_a"


def described(message, traceback, *, outcome="failed", baseline="failed"):
    test = CaseChange(node_id=TEST, listed="fail_to_pass", baseline=baseline, final=outcome)
    case = ReportedCase(node_id=TEST, outcome=outcome, message=message, traceback=traceback)
    return describe_test(test, failed(tests=(test,)), StoredReport(tests=(case,)))


@pytest.mark.parametrize(
    ("source", "message", "expected", "actual"),
    [
        ("assert f(1) == 6", "assert 5 == 6\n +  where 5 = f(1)", "6", "5"),
        ("assert 6 == f(1)", "assert 6 == 5\n +  where 5 = f(1)", "6", "5"),
        ("assert f() == g()", "assert [1, 2] == [1]", "[1]", "[1, 2]"),
        ("assert f() == 'a == b'", "AssertionError: assert 'c' == 'a == b'", "'a == b'", "'c'"),
        ("assert f() == 1, 'why'", "AssertionError: why\nassert 2 == 1", "1", "2"),
        ("assert f() == X()", "assert <X at 0x1> == <X at 0x2>", "<X at 0x2>", "<X at 0x1>"),
        ("self.assertEqual(f(), 6)", "AssertionError: 5 != 6", "6", "5"),
        ("self.assertEqual(6, f())", "AssertionError: 6 != 5", "6", "5"),
        ("self.assertEqual(expected, f())", "AssertionError: 6 != 5", "6", "5"),
        ("assert f() == expected", "assert 5 == 6", "6", "5"),
        ("self.assertEqual(f(), [1])", "AssertionError: Lists differ: [2] != [1]", "[1]", "[2]"),
        ("with pytest.raises(ValueError):", "Failed: DID NOT RAISE <class 'ValueError'>",
         "ValueError", "no exception"),
        ("with pytest.raises(E):", "Failed: DID NOT RAISE E", "E", "no exception"),
    ],
)  # fmt: skip
def test_a_comparison_is_divided_into_its_values(source, message, expected, actual):
    lines = "\n".join(f"E       {line}" for line in message.splitlines())
    found = described(message, f">       {source}\n{lines}\n\ntests/test_it.py:3: AssertionError")
    assert (found.expected, found.actual) == (expected, actual)
    assert (found.assertion, found.where) == (source, "tests/test_it.py:3")
    assert found.message == ""


def test_values_that_pytest_abridges_come_with_their_difference():
    message = "AssertionError: assert [1, ...] == [2, ...]\n  \n  At index 0 diff: 1 != 2"
    found = described(message, ">       assert f() == x\nE       x\n\nt.py:3: AssertionError")
    assert (found.expected, found.actual) == ("[2, ...]", "[1, ...]")
    assert found.difference.split() == ["At", "index", "0", "diff:", "1", "!=", "2"]
    assert found.message == ""


def test_values_that_pytest_abridges_to_the_same_text_are_left_to_their_difference():
    message = "AssertionError: assert ['a ...d'] == ['a ...d']\n  \n  At index 1 diff: 'b' != 'c'"
    found = described(message, ">       assert f() == x\nE       x\n\nt.py:3: AssertionError")
    assert (found.expected, found.actual, found.message) == ("", "", "")
    assert found.difference.strip() == "At index 1 diff: 'b' != 'c'"
    found = described("assert X() == X()", ">       assert f() == x\nE       x\n\nt.py:3: Assert")
    assert (found.expected, found.actual) == ("X()", "X()")


@pytest.mark.parametrize(
    "message",
    ["assert 5 > 6", "assert False\n +  where False = f()", "IndexError: out of range", "odd", ""],
)
def test_another_error_is_given_as_it_is(message):
    found = described(
        message, ">       assert f()\nE       x\n\ntests/test_it.py:3: AssertionError"
    )
    assert (found.expected, found.actual, found.message) == ("", "", message)


def test_a_native_traceback_gives_the_line_below_its_last_frame():
    traceback = (
        '  File "/workspace/tests/test_it.py", line 9, in test_a\n    self.assertEqual(f(), 6)'
    )
    found = described("AssertionError: 5 != 6", traceback)
    assert (found.assertion, found.expected) == ("self.assertEqual(f(), 6)", "6")


@pytest.mark.parametrize(
    ("outcome", "baseline", "what"),
    [
        ("failed", "failed", "still fails"),
        ("failed", None, "fails"),
        ("failed", "passed", "passed before the change and fails now (a regression)"),
        ("error", "error", "still fails in its set-up or teardown"),
        ("unfinished", "failed", "did not run to its end"),
        ("skipped", "failed", "was skipped, which does not count as passed"),
    ],
)
def test_how_a_test_ended_is_said_in_words(outcome, baseline, what):
    assert described("", "", outcome=outcome, baseline=baseline).what == what


def test_a_test_that_is_missing_did_not_run():
    test = CaseChange(node_id=TEST, listed="fail_to_pass", baseline="failed", final=None)
    assert describe_test(test, failed(tests=(test,)), StoredReport()).what == "did not run"


def test_tests_that_failed_by_themselves_come_first_and_others_do_not_decide():
    def case(name, listed, final):
        return CaseChange(node_id=name, listed=listed, baseline="failed", final=final)

    tests = (
        case("gone", "fail_to_pass", None),
        case("cut off", "fail_to_pass", "unfinished"),
        case("wrong", "pass_to_pass", "failed"),
        case("fine", "fail_to_pass", "passed"),
        case("of nobody", None, "failed"),
        case("skipped", "pass_to_pass", "skipped"),
    )
    found = [test.node_id for test in failing_tests(failed(tests=tests))]
    assert found == ["wrong", "cut off", "gone"]
    assert [t.node_id for t in failing_tests(failed(tests=tests[4:5]))] == ["of nobody"]
