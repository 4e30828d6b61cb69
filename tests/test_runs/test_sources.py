import json

from agentbench.test_runs.parse import ReportFiles, session_of

STREAM = (
    '{"n": 0, "kind": "start", "pytest": "9", "python": "3"}\n'
    '{"n": 1, "kind": "begin", "id": "a.py::t"}\n'
)
REPORT = json.dumps({"exitcode": 0, "tests": []})
JUNIT = "<testsuites><testsuite><testcase name='t' file='a.py'/></testsuite></testsuites>"
TEXT = "=== short test summary info ===\nPASSED a.py::t\n"


def source(text="", **files):
    return session_of(ReportFiles(**files), text).source


def test_the_most_trusted_source_that_says_anything_is_believed():
    everything = {"stream": STREAM, "json_report": REPORT, "junit": JUNIT}
    assert source(TEXT, **everything) == "stream"
    assert source(TEXT, json_report=REPORT, junit=JUNIT) == "json_report"
    assert source(TEXT, junit=JUNIT) == "junit"
    assert source(TEXT) == "text"
    assert source("nothing") == "exit_code"


def test_a_broken_source_gives_way_to_the_next():
    assert source(TEXT, stream="torn{", json_report="{", junit="<a") == "text"
    assert source(TEXT, stream=STREAM, json_report="{") == "stream"
    assert source(TEXT, json_report="{}", junit=JUNIT) == "junit"


def test_a_stream_that_says_why_there_is_no_pytest_is_believed():
    spawn = '{"n": 0, "kind": "spawn", "error": "no pytest"}\n'
    session = session_of(ReportFiles(stream=spawn), TEXT)
    assert (session.source, session.spawn_error) == ("stream", "no pytest")


def test_the_report_is_handed_on_beside_the_stream():
    session = session_of(ReportFiles(stream=STREAM, json_report=REPORT), "")
    assert session.json_report == json.loads(REPORT)


def stage(outcome):
    return {"outcome": outcome, "duration": 0.1}


def reported(call):
    test = {
        "nodeid": "a.py::t",
        "setup": stage("passed"),
        "call": stage(call),
        "teardown": stage("passed"),
    }
    return json.dumps({"exitcode": 0, "tests": [test]})


PASSED = STREAM + "".join(
    json.dumps({"n": number, "kind": "phase", "id": "a.py::t", "when": when, "outcome": "passed"})
    + "\n"
    for number, when in enumerate(("setup", "call", "teardown"), 2)
)


def test_a_report_that_is_too_large_has_its_say_and_is_not_kept():
    for report in (reported("passed"), reported("failed")):
        files = ReportFiles(stream=PASSED, json_report=report)
        kept = session_of(files, "")
        left_out = session_of(files, "", report_limit=10)
        assert left_out.phases == kept.phases
        assert (left_out.json_report, left_out.report_left_out) == ({}, True)
        assert session_of(files, "", report_limit=10_000).json_report == json.loads(report)
    assert kept.phases != session_of(ReportFiles(stream=PASSED), "").phases


def test_a_large_report_that_is_torn_has_no_say():
    files = ReportFiles(stream=PASSED, json_report=reported("failed")[:-2])
    left_out = session_of(files, "", report_limit=10)
    assert left_out.phases == session_of(files, "").phases
    assert not left_out.report_left_out
