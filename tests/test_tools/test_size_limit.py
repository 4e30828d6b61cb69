from itertools import pairwise

from agentbench.core.untrusted_json import cut_middle
from agentbench.scoring.evidence import CaseOutcome, NodeId, PytestOutcome, ReportSource
from agentbench.test_runs.model import CaseResult, CollectionError, PytestResult, PytestSummary
from agentbench.test_tools.answers import fit_to_limit


def result_of(**fields):
    return PytestResult(
        exit_code=1,
        summary=PytestSummary(),
        outcome=PytestOutcome.FAILED,
        source=ReportSource.STREAM,
        **fields,
    )


def cases(count, outcome, text=None):
    return tuple(
        CaseResult(
            node_id=NodeId(f"t.py::test_{number}"),
            outcome=outcome,
            duration=0.1,
            message=text,
            traceback=text,
        )
        for number in range(count)
    )


def sized(limit, result):
    return fit_to_limit(result, limit, lambda form: len(form.model_dump_json()) <= limit)


def test_what_fits_is_left_as_it_is():
    result = result_of(tests=cases(3, CaseOutcome.PASSED), json_report={"tests": []})
    assert sized(10_000, result) is result


def test_what_tells_least_goes_first():
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


def test_what_can_never_fit_comes_as_small_as_it_gets():
    form = fit_to_limit(
        result_of(tests=cases(9, CaseOutcome.FAILED, "E" * 99)), 10, lambda _: False
    )
    assert len(form.tests) == 1


def test_a_form_that_cannot_fit_is_not_written_out():
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
