import json
import subprocess
import sys

import pytest

from agentbench.core.untrusted_json import json_object
from agentbench.test_runs.json_report import parse_json_report

TESTS = """
import pytest
class TestNumbers:
    @pytest.mark.parametrize("n", [1, 2])
    def test_number(self, n):
        assert n == 1
def test_plain():
    pass
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What pytest-json-report wrote of a run."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_numbers.py").write_text(TESTS)
    pytest_command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--json-report"]
    subprocess.run([*pytest_command, "--json-report-file=report.json"], cwd=folder, check=False)
    return (folder / "report.json").read_text()


def test_a_report_is_read_whole(written):
    assert parse_json_report(written) == json.loads(written)


def test_words_that_tests_repeat_are_one_object(written):
    report = parse_json_report(written)
    first, second, plain = report["tests"]
    told = {found["nodeid"]: found for each in report["collectors"] for found in each["result"]}
    assert told[first["nodeid"]]["nodeid"] is first["nodeid"]
    assert first["setup"]["outcome"] is plain["call"]["outcome"]
    same = [a is b for a, b in zip(first["keywords"], second["keywords"], strict=True)]
    assert same.count(False) == 2  # the test's own name, and its parameter


@pytest.mark.parametrize(
    "source",
    [
        "",
        "[]",
        "null",
        "{",
        '{"tests": [{"nodeid": "a"}',
        '{"tests": [{"nodeid": "a"},]}',
        '{"tests": {"a": 1}, "collectors": null}',
        '{"tests": [1, null, "a", [1], {}]}',
        '{"tests": [{"nodeid": 1, "outcome": [], "setup": 7, "keywords": {"a": 1}}]}',
        '{"tests": [{"keywords": ["a", 1]}, {"keywords": ["a", true]}, {"keywords": [1.0, []]}]}',
        '{"tests": [{"keywords": ["a", "b"]}, {"keywords": ["a"]}, {"keywords": []}]}',
        '{"collectors": [{"result": [1, {"nodeid": null}, {"type": "Function"}]}, 3]}',
        '{"tests": [1], "tests": [{"nodeid": "second"}]}',
        '{"tests": [NaN], "created": Infinity}',
        '{"tests": [{"nodeid": "\\ud800"}]}',
        '{"tests": [{"nodeid": "\\ud83d\\ude00"}]}',
        '{"tests": [{"setup": ' + "[" * 5_000 + "]" * 5_000 + "}]}",
        '{"tests": [9' + "9" * 5_000 + "]}",
    ],
)
def test_any_text_is_what_it_is_elsewhere(source):
    assert repr(parse_json_report(source)) == repr(json_object(source))
