from pathlib import Path

from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.problem import TaskId
from agentbench.validation.task_validation import (
    ValidationResult,
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


def test_leaks_are_told_after_reasons():
    leak = Finding(rule="few-tests", severity=Severity.WARNING, where="a", what="b")
    assert list(result_lines(proven("why", leaks=(leak,)))) == ["why", "warning: few-tests at a: b"]
