from pathlib import Path

from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.problem import TaskId
from agentbench.validation.task_proof import TaskProof
from agentbench.validation.task_validation import (
    ValidationResult,
    all_controls,
    invalid_reasons_text,
    result_lines,
)


def proven(*reasons, **more):
    return ValidationResult(folder=Path("x"), task_id=TaskId("x"), reasons=reasons, **more)


def test_reasons_are_counted_by_their_kind_most_frequent_first():
    tasks = [
        proven(),
        proven("flaky: tests/a.py::b (25%)", "flaky: tests/a.py::c (50%)"),
        proven("the reference solution ends in TESTS_FAILED: tests/a.py::b not passed"),
        proven("the reference solution ends in TESTS_FAILED: tests/z.py::y not run"),
        proven("out/a/task.toml: title: is missing"),
        proven("the reference solution makes no failing test pass (x; y)"),
    ]
    assert invalid_reasons_text(tasks) == (
        "2 x the reference solution ends in TESTS_FAILED; 1 x flaky; 1 x its files are wrong; "
        "1 x the reference solution makes no failing test pass"
    )


def test_where_all_are_good_there_is_no_reason():
    assert invalid_reasons_text([proven()]) == ""


def test_many_kinds_are_not_all_named():
    said = invalid_reasons_text([proven(f"kind {letter}: x") for letter in "abcdefgh"])
    assert said.endswith("1 x kind f; 2 other reasons")


def with_controls(to_control, *, controlled, sealed, unsealed):
    return proven(
        proof=TaskProof(
            faults=(),
            flaky=(),
            runs=2,
            controlled=controlled,
            sealed=sealed,
            unsealed=dict.fromkeys(unsealed, "line 5: it stays: `assert all(x)`"),
            to_control=to_control,
        )
    )


def test_a_test_that_is_not_sealed_is_a_warning_with_its_statement():
    one = with_controls(3, controlled=("t", "u[1]"), sealed=("t",), unsealed=("u[1]", "u[2]"))
    assert [*result_lines(one)] == ["warning: not sealed: u: line 5: it stays: `assert all(x)`"]
    assert dict(one.controls) == {"sealed": 1, "blind": 1, "weak": 1}


def test_tests_to_fix_are_added_up_over_tasks():
    sealed = with_controls(1, controlled=("t",), sealed=("t",), unsealed=())
    weak = with_controls(2, controlled=(), sealed=(), unsealed=("t", "u"))
    failed = with_controls(4, controlled=(), sealed=(), unsealed=())  # before any control run
    assert dict(all_controls([sealed, weak, failed])) == {"sealed": 1, "blind": 0, "weak": 2}


def test_leaks_are_told_after_reasons():
    leak = Finding(rule="few-tests", severity=Severity.WARNING, where="a", what="b")
    assert list(result_lines(proven("why", leaks=(leak,)))) == ["why", "warning: few-tests at a: b"]
