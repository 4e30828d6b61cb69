import json
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from agentbench.core.untrusted_json import cut_middle
from agentbench.mcp.pytest_tools import call_result
from agentbench.scoring.evidence import (
    CaseOutcome,
    CommandResult,
    Ending,
    NodeId,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.test_runs.model import CaseResult, CollectionError, PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun
from agentbench.test_tools import answers
from agentbench.test_tools.answers import (
    SIZE_LIMIT,
    answer_to_discovery,
    answer_to_run,
    fit_to_limit,
    size_of,
)
from agentbench.test_tools.envelope import PathMask

MASK = PathMask(PurePosixPath("/srv/proj"))


def cases(count, outcome=CaseOutcome.PASSED, text=None):
    return tuple(
        CaseResult(
            node_id=NodeId(f"tests/test_{number // 100}.py::test_{number}"),
            outcome=outcome,
            duration=0.01,
            message=text,
            traceback=text,
        )
        for number in range(count)
    )


def a_run(tests, *, outcome=PytestOutcome.PASSED, text="", report=None, **command):
    result = PytestResult(
        exit_code=0,
        summary=PytestSummary(total=len(tests), passed=len(tests), collected=len(tests)),
        tests=tests,
        json_report=report or {},
        text_output=text,
        outcome=outcome,
        complete=True,
        source=ReportSource.STREAM,
    )
    ended = CommandResult(
        argv=("/usr/bin/python", "-m", "pytest", "/srv/proj/tests"),
        ending=Ending.EXITED,
        exit_code=0,
        duration=timedelta(seconds=1),
        stdout=text,
        **command,
    )
    return TestRun(command=ended, result=result, trust=ReportTrust.IN_PROCESS_STREAM)


def compact(run):
    answer = answer_to_run(run, MASK, timeout_s=5, full=False)
    assert size_of(answer) <= SIZE_LIMIT
    wire = call_result(answer).model_dump_json(by_alias=True)
    assert len(wire.encode()) <= SIZE_LIMIT
    return answer


def test_small_answer_is_complete():
    answer = compact(a_run(cases(20), text="20 passed", report={"tests": []}))
    assert answer["omitted"] == []
    assert len(answer["tests"]) == 20
    assert answer["text_output"] == "20 passed"


def test_report_and_ids_of_many_passing_tests_are_omitted():
    run = a_run(cases(10_000), text="." * 10_000, report={"tests": [{"nodeid": "x"}] * 10_000})
    answer = compact(run)
    assert answer["omitted"] == ["json_report", "10000 passed tests"]
    assert answer["summary"]["passed"] == 10_000
    assert answer["text_output"] == "." * 10_000


def test_failing_tests_stay_whole_when_the_passing_ones_go():
    failed = cases(5, CaseOutcome.FAILED, "E   assert 1 == 2\n" * 50)
    answer = compact(a_run((*cases(10_000), *failed)))
    assert [case["traceback"] for case in answer["tests"]] == [failed[0].traceback] * 5


def test_a_long_output_loses_its_middle_once_the_passing_tests_are_gone():
    text = "head\n" + "x" * 500_000 + "\ntail"
    answer = compact(a_run(cases(3), text=text))
    assert answer["omitted"] == ["3 passed tests", "the middle of text_output"]
    assert answer["text_output"].startswith("head")
    assert answer["text_output"].endswith("tail")
    assert "characters left out" in answer["text_output"]


def test_of_thousands_of_failures_as_many_as_fit_are_shown():
    answer = compact(a_run(cases(5_000, CaseOutcome.FAILED, "E  " + "\u00fc" * 5_000)))
    assert answer["tests"]
    assert answer["omitted"][-1].endswith("of 5000 other tests")


def test_full_detail_omits_nothing():
    run = a_run(cases(10_000), text="x" * 100_000, report={"tests": [1]})
    answer = answer_to_run(run, MASK, timeout_s=5, full=True)
    assert answer["omitted"] == []
    assert len(answer["tests"]) == 10_000
    assert answer["json_report"] == {"tests": [1]}


def test_the_diagnosis_of_an_error_is_cut_as_the_output_is():
    run = a_run(cases(3), outcome=PytestOutcome.CRASH, text="x" * 500_000)
    error = compact(run)["error"]
    assert error["data"]["command"] == ["<host>", "-m", "pytest", "tests"]
    assert "characters left out" in error["data"]["stdout"]


def test_thousands_of_ids_are_cut_and_counted():
    run = a_run(())
    ids = tuple(case.node_id for case in cases(10_000))
    answer = answer_to_discovery(replace(run, node_ids=ids), MASK, timeout_s=5)
    assert size_of(answer) <= SIZE_LIMIT
    assert answer["message"] == "10000 tests"
    shown = len(answer["node_ids"])
    assert answer["omitted"][-1].startswith(f"{10_000 - shown} of 10000 node_ids: narrow")
    assert shown > 200


def test_discovery_is_discovered_unless_it_failed():
    run = a_run((), outcome=PytestOutcome.COLLECTION_ERROR)
    assert answer_to_discovery(run, MASK, timeout_s=5)["outcome"] == "collection_error"
    assert answer_to_discovery(a_run(()), MASK, timeout_s=5)["outcome"] == "discovered"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (answers.invalid_arguments(["a: b"]), -32602),
        (answers.answer_to_error("path_outside_root", "paths[0]: leads out"), -32602),
        (answers.no_pytest("none at /usr/bin/x", MASK), -32000),
    ],
)
def test_an_error_that_is_no_run_has_every_field_of_the_envelope(answer, code):
    assert answer["error"]["code"] == code
    assert set(answer) == set(answer_to_run(a_run(()), MASK, timeout_s=5, full=True))
    assert "/usr" not in json.dumps(answer)
    assert call_result(answer).is_error


def result_of(**fields):
    return PytestResult(
        exit_code=1,
        summary=PytestSummary(),
        outcome=PytestOutcome.FAILED,
        source=ReportSource.STREAM,
        **fields,
    )


def sized(limit, result):
    return fit_to_limit(result, limit, lambda form: len(form.model_dump_json()) <= limit)


def test_fitting_result_is_unchanged():
    result = result_of(tests=cases(3, CaseOutcome.PASSED), json_report={"tests": []})
    assert sized(10_000, result) is result


def test_least_informative_parts_are_omitted_first():
    result = result_of(
        tests=(
            *cases(50, CaseOutcome.PASSED),
            *cases(50, CaseOutcome.SKIPPED, "why " * 20),
            *cases(50, CaseOutcome.FAILED, "E " * 2_000),
        ),
        json_report={"tests": [{}] * 50},
        text_output="x" * 50_000,
    )
    seen = []
    full = len(result.model_dump_json())
    for limit in (full, full - 100, full - 5_000, full - 30_000, full - 65_000, 100_000, 20_000):
        form = sized(limit, result)
        assert len(form.model_dump_json()) <= limit
        seen.append(form.omitted)
    report, passed = "json_report", "50 passed tests"
    middle, quiet = "the middle of text_output", "50 skipped, xfailed and xpassed tests"
    assert seen[0] == ()
    assert all(len(less) <= len(more) for less, more in pairwise(seen))
    assert seen[-1][:4] == (report, passed, middle, quiet)
    assert seen[-1][4] == "the middle of long messages and tracebacks"
    assert seen[-1][5].endswith("of 50 other tests")


def test_collection_errors_are_counted_too():
    errors = tuple(
        CollectionError(file=f"{number}.py", message="m" * 500, traceback="t" * 500)
        for number in range(200)
    )
    form = sized(20_000, result_of(collection_errors=errors))
    assert 0 < len(form.collection_errors) < 200
    assert form.omitted[-1].endswith("of 200 collection errors")


def test_oversized_result_is_as_small_as_possible():
    form = fit_to_limit(
        result_of(tests=cases(9, CaseOutcome.FAILED, "E" * 99)), 10, lambda _: False
    )
    assert len(form.tests) == 1


def test_version_above_the_lower_bound_is_not_rendered():
    tried = []
    fit_to_limit(
        result_of(tests=cases(1_000, CaseOutcome.PASSED)),
        1_000,
        lambda form: tried.append(len(form.tests)) or True,
    )
    assert tried == [0]


def test_a_cut_names_what_is_missing():
    assert cut_middle("abc", 3) == "abc"
    assert cut_middle("a" * 10 + "b" * 10, 6) == "aaa\n[... 14 characters left out ...]\nbbb"
