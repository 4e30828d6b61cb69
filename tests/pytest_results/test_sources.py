import json

from agentbench.pytest_results.sources import ReportFiles, session_of

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
