import json

import agentbench.test_runs as package
from agentbench.test_runs import serialize_pytest_results
from agentbench.test_runs.report_files import REPORT_LIMIT

PASSED = {"outcome": "passed", "duration": 0.25}
REPORT = {
    "duration": 1.5,
    "exitcode": 1,
    "summary": {"passed": 1, "failed": 1, "total": 2, "collected": 2},
    "tests": [
        {"nodeid": "a.py::p", "outcome": "passed", **dict.fromkeys(["setup", "call"], PASSED)}
        | {"teardown": PASSED},
        {
            "nodeid": "a.py::f",
            "outcome": "failed",
            "setup": PASSED,
            "call": {
                "outcome": "failed",
                "duration": 0.5,
                "crash": {"message": "AssertionError: x"},
                "longrepr": "E  AssertionError: x",
            },
            "teardown": PASSED,
        },
    ],
}


def written(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    return path


def test_the_shape_is_the_decision_records_and_more(tmp_path):
    path = written(tmp_path, json.dumps(REPORT))
    result = serialize_pytest_results(1, path, "the text")

    assert result["exit_code"] == 1
    assert result["outcome"] == "failed"
    assert result["json_report"] == REPORT
    assert result["text_output"] == "the text"
    assert result["collection_errors"] == []
    wanted = {"total": 2, "passed": 1, "failed": 1, "skipped": 0, "errors": 0, "duration": 1.5}
    assert wanted.items() <= result["summary"].items()
    assert result["tests"] == [
        {
            "node_id": "a.py::p",
            "outcome": "passed",
            "duration": 0.75,
            "message": None,
            "traceback": None,
        },
        {
            "node_id": "a.py::f",
            "outcome": "failed",
            "duration": 1.0,
            "message": "AssertionError: x",
            "traceback": "E  AssertionError: x",
        },
    ]


def test_a_missing_torn_or_giant_report_is_no_error(tmp_path):
    giant = tmp_path / "giant.json"
    with giant.open("wb") as file:
        file.truncate(REPORT_LIMIT + 1)
    torn = written(tmp_path, json.dumps(REPORT)[:-10])
    for path in (None, tmp_path / "missing.json", tmp_path / ("x" * 300), tmp_path, torn, giant):
        result = serialize_pytest_results(0, path, "")
        assert result["outcome"] == "unverified"
        assert result["source"] == "exit_code"
        assert result["json_report"] == {}


def test_a_negative_exit_code_is_a_signal(tmp_path):
    path = written(tmp_path, json.dumps(REPORT))
    assert serialize_pytest_results(-11, path, "")["outcome"] == "crash"


def test_odd_bytes_are_decoded_with_replacement(tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(b'{"exitcode": 5, "root": "\xff"}')
    assert serialize_pytest_results(5, path, "")["json_report"]["root"] == "�"


def test_the_package_has_no_other_name():
    assert package.__all__ == ["serialize_pytest_results"]
    assert not hasattr(package, "deserialize")
