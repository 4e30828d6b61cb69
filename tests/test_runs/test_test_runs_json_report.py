import pytest

from agentbench.test_runs.fallback import read_json_report
from agentbench.test_runs.model import case_result


def stage(outcome="passed", **more):
    return {"outcome": outcome, "duration": 0.25, **more}


def case_of(test):
    session = read_json_report({"tests": [{"nodeid": "a.py::t", **test}]})
    (node_id, phases), *_ = session.phases.items()
    return case_result(node_id, phases, session.durations[node_id])


def test_the_duration_of_a_test_is_the_sum_of_its_stages():
    passed = {"outcome": "passed", "setup": stage(), "call": stage(), "teardown": stage()}
    assert case_of(passed).duration == 0.75
    assert case_of(passed).outcome == "passed"


def test_a_test_without_its_call_did_not_pass_whatever_its_outcome_says():
    case = case_of({"outcome": "passed", "setup": stage(), "teardown": stage()})
    assert case.outcome == "unfinished"


def test_a_skip_reason_is_taken_from_the_set_up():
    skipped = stage("skipped", longrepr="('a.py', 1, 'Skipped: so it is')")
    case = case_of({"outcome": "skipped", "setup": skipped, "teardown": stage()})
    assert (case.outcome, case.message, case.traceback) == ("skipped", "so it is", None)


def test_a_set_up_error_is_told_with_its_own_message():
    broken = stage("failed", crash={"message": "ValueError: x"}, longrepr="long")
    case = case_of({"outcome": "error", "setup": broken, "teardown": stage()})
    assert (case.outcome, case.message, case.traceback) == ("error", "ValueError: x", "long")


def test_a_failure_without_crash_entry_names_its_error_line():
    failed = stage("failed", longrepr="E  Boom: x", crash=3)
    case = case_of({"outcome": "failed", "setup": stage(), "call": failed, "teardown": stage()})
    assert case.message == "Boom: x"


@pytest.mark.parametrize(("word", "call"), [("xfailed", "skipped"), ("xpassed", "passed")])
def test_expected_failures_keep_their_word(word, call):
    stages = {"setup": stage(), "call": stage(call), "teardown": stage()}
    assert case_of({"outcome": word, **stages}).outcome == word


def test_the_test_in_which_a_worker_died_failed():
    case = case_of({"outcome": "failed", "???": stage("failed", longrepr="worker crashed")})
    assert (case.outcome, case.message) == ("failed", "worker crashed")


def test_collectors_that_failed_or_were_skipped_are_told():
    report = {
        "collectors": [
            {"nodeid": "a.py", "outcome": "failed", "longrepr": "E  ImportError: no"},
            {"nodeid": "b.py", "outcome": "skipped", "longrepr": "('b.py', 1, 'Skipped: no')"},
            {"nodeid": "", "outcome": "passed"},
            {"nodeid": 3, "outcome": "failed"},
        ]
    }
    session = read_json_report(report)
    assert [(e.file, e.message) for e in session.collection_errors] == [
        ("a.py", "ImportError: no"),
        ("unknown", ""),
    ]
    assert session.results["b.py"].message == "no"


def test_what_was_deselected_does_not_count_as_collected():
    session = read_json_report({"exitcode": 0, "summary": {"collected": 5, "deselected": 2}})
    assert (session.collected_count, session.deselected) == (3, 2)
    assert (session.finished, session.exit_status) == (True, 0)


def test_a_report_without_exit_code_was_not_finished():
    session = read_json_report({"summary": [], "collectors": 1, "tests": {"a": 1}})
    assert not session.finished
    assert session.collected_count is None
